import { onTestFinished } from 'vitest'
import { signWebhook } from '../../../src/webhook/signature.js'
import { InboxWriter } from '../../../src/workbench/inbox-writer.js'
import {
  emptyResponse,
  type Listener,
  type ListenerOptions,
  type RequestEvent,
  startListener,
} from '../../../src/workbench/listener.js'
import { temporaryDir } from '../cli/cli.js'

export const secret = 'a-secret-of-these-tests'
/** Time of the fixed clock of a listener under test, in Unix seconds. */
export const nowSeconds = 1_800_000_000

export interface Running extends Listener {
  readonly events: RequestEvent[]
  readonly dir: string
  readonly inbox: InboxWriter
  /** Resolves with the request events once the listener has emitted `count` of them. */
  emitted(count: number): Promise<readonly RequestEvent[]>
}

export async function listening(options: Partial<ListenerOptions> = {}): Promise<Running> {
  const events: RequestEvent[] = []
  const waiting: { count: number; go(events: readonly RequestEvent[]): void }[] = []
  const dir = temporaryDir()
  const inbox = new InboxWriter(dir)
  const listener = await startListener({
    port: 0,
    secrets: [secret],
    inbox,
    app: async () => emptyResponse(200),
    now: () => nowSeconds * 1000,
    ...options,
    onRequest: (one) => {
      events.push(one)
      options.onRequest?.(one)
      for (const { count, go } of waiting) if (events.length >= count) go(events)
    },
  })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= listener.close().then(() => inbox.close()))
  onTestFinished(close)
  const emitted = (count: number) =>
    events.length >= count
      ? Promise.resolve(events)
      : new Promise<readonly RequestEvent[]>((go) => waiting.push({ count, go }))
  return { ...listener, close, events, dir, inbox, emitted }
}

export const updateBody = (id: number | string, type = 'message', text = 'Hello') =>
  Buffer.from(`{"update_id":${id},"type":"${type}","${type}":{"text":${JSON.stringify(text)}}}`)

export const signed = (body: Buffer, id: number | string, secrets: readonly string[] = [secret], at = nowSeconds) =>
  signWebhook({ rawBody: body, secrets, timestamp: at, updateId: id })

/** Sends a signed delivery to a listener, as the platform does. */
export const deliver = (url: string, id: number | string, type = 'message', text = 'Hello') => {
  const body = updateBody(id, type, text)
  return fetch(url, { method: 'POST', body, headers: signed(body, id) })
}

/** A promise (`opened`) that a test resolves with `open`. */
export function gate<T = void>() {
  let open!: (value: T) => void
  const opened = new Promise<T>((resolve) => (open = resolve))
  return { open, opened }
}
