import { appendFile, chmod } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { platform } from '../../../contract/platform/platform.js'
import type { UpdateType } from '../../../contract/updates.js'
import { webhook } from '../../../contract/webhook.js'
import { reasonOf } from '../../../files/error-code.js'
import { pause } from '../../../files/pause.js'
import { refuseForeignFile } from '../../../files/replace-file.js'
import { signWebhook } from '../../../webhook/signature.js'
import type { Listener } from '../../../workbench/listener.js'
import { deliverPolled, FAST_DELAYS_MS, PLATFORM_DELAYS_MS } from '../../../workbench/polled-deliveries.js'
import { post } from '../../../workbench/post.js'
import type { Context } from '../../command/context.js'
import { createContext } from '../../command/create-context.js'
import { idOf } from '../../command/names.js'
import { findServerAt, isProven } from '../../config/local-server.js'
import { exitOf } from '../../failures/codes.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { integer, needing, path, toggle, type ValuesOf } from '../../flags/flags.js'
import { inWords, longestHold, polledOf, polls, withRestartedServer } from '../bots/polling.js'
import { secondsOf } from './sign.js'

/** Milliseconds between renewals of the lease, which lasts 30 s. */
const RENEW_MS = 10_000
const CALL_MS = 5_000

/** Delivers updates to the listener until the signal aborts. Resolves with the failure that ends it early. */
type Source = (() => Promise<Failure | undefined>) & Allowed
/** The bot's allowed_updates, if the server reports them. */
type Allowed = { readonly allowed: readonly UpdateType[] | undefined }

/** Flags for updates that are polled. */
export const retryFlags = {
  'retry-fast': needing(toggle('Retry polled updates after 0.1 to 10 s'), 'bot'),
  'max-attempts': needing(integer('N', 'Attempts of polled updates', 1, 1_000_000), 'dead-letter'),
  'dead-letter': needing(path('FILE', 'Append those that fail here'), 'max-attempts'),
}
/** The listener, and the secret that signs its deliveries. */
type Receiver = { readonly listener: Listener; readonly secret: string }
type BotFlags = ValuesOf<typeof retryFlags> & { readonly bot: string }

/**
 * Borrows the webhook of a bot on a local server, or polls its updates (rules/webhooks.md#borrowed-webhooks), until
 * `close`.
 * @param onFailure called if that ends early
 */
export async function openBotSource(
  context: Context,
  flags: BotFlags,
  receiver: Receiver,
  onFailure: (failure: Failure) => void,
): Promise<(Allowed & { readonly close: () => Promise<void> }) | Failure> {
  const base = context.baseUrl()
  if (!base.ok) return base
  const closing = new AbortController()
  const { signal } = closing
  // A tunnel to a remote server has a loopback address too. Without its operator API a server lends nothing.
  const server = findServerAt(context.host, context.settings, new URL(base.value).origin)
  const lends = server !== undefined && server.operator_key_file !== null && (await isProven(server))
  if (lends && (flags['retry-fast'] || flags['dead-letter'] !== undefined)) {
    return usage(
      '--retry-fast, --max-attempts and --dead-letter apply to updates that are polled; this server delivers and retries itself.',
      'Leave them out. `voucherctl webhook retry` retries a delivery immediately.',
    )
  }
  const source = await (lends ? borrow : poll)(context, flags, receiver, signal)
  if ('code' in source) return source
  const running = source().then((failure) => failure && !signal.aborted && onFailure(failure))
  const close = async () => {
    closing.abort()
    await running
  }
  return { close, allowed: source.allowed }
}

async function borrow(
  context: Context,
  { bot }: BotFlags,
  { listener: { port }, secret: secret_token }: Receiver,
  signal: AbortSignal,
): Promise<Source | Failure> {
  const found = await idOf(context, 'botId', bot)
  if (!found.ok) return found
  const lease = { botId: found.value, leaseId: context.host.newId() }
  const holder = `webhook listen, process ${process.pid} on ${hostname()}`
  let by = context
  let allowed: Allowed['allowed']
  // Ctrl-C aborts no renewal: the server could process it after the end of the lease.
  const limits = () => ({ timeoutMs: CALL_MS, signal: AbortSignal.timeout(CALL_MS), progress: 'Listening' })
  const renew = async () => {
    const renewed = await by.call(platform.borrowWebhook, { ...lease, port, secret_token, holder }, limits())
    if (renewed.ok) allowed ??= renewed.data.allowed_updates
    return renewed.ok || 'plan' in renewed ? undefined : renewed
  }
  const refused = await renew()
  if (refused !== undefined) return refused
  const run = async () => {
    let failure: Failure | undefined
    while (!signal.aborted && failure === undefined) {
      await pause(RENEW_MS, signal)
      failure = signal.aborted ? undefined : await renew()
      // A local server that does not respond may be restarting, perhaps on another port.
      if (failure === undefined || (exitOf(failure) !== 9 && failure.code !== 'BASE_URL_REQUIRED')) continue
      failure = undefined
      by = withRestartedServer(context)
    }
    const ended = await by.call(platform.returnWebhook, lease, limits())
    if (!ended.ok) context.output.notice('warning: the server did not confirm that the earlier webhook is back.')
    return failure
  }
  return Object.assign(run, { allowed })
}

/** Polls updates with the stored bot token and posts them to the listener (rules/workbench.md#polled-deliveries). */
async function poll(
  context: Context,
  flags: BotFlags,
  { listener, secret }: Receiver,
  signal: AbortSignal,
): Promise<Source | Failure> {
  const { globals, settings, output, line } = context
  const host = { ...context.host, signal: AbortSignal.any([context.host.signal, signal]) }
  const file = flags['dead-letter'] === undefined ? undefined : resolve(host.cwd, flags['dead-letter'])
  // Create the dead letter file at the start, so that an unwritable path is an error before it is needed.
  const unwritable = await append(file, '')
  if (unwritable !== undefined) return unwritable
  const polling = polls(createContext(host, globals, settings, output, line), (hold) =>
    hold === 'none' ? 0 : longestHold(context),
  )
  // The first poll confirms nothing: its response shows whether this bot may poll.
  const first = polledOf(await polling.poll(undefined, 'none'), undefined)
  if (!first.ok) return first.failure
  const info = await context.call(webhook.info, {}, { timeoutMs: CALL_MS })
  const run = () =>
    deliverPolled<Failure>({
      ...polling,
      poll: async (from, hold) => polledOf(await polling.poll(from, hold), from),
      confirm: async (before) => (await polling.confirm(before)).ok,
      deliver(update) {
        const body = Buffer.from(JSON.stringify(update))
        const signed = { rawBody: body, secrets: [secret], timestamp: secondsOf(context), updateId: update.update_id }
        return post({ url: new URL(listener.url), headers: signWebhook(signed), body })
      },
      addDeadLetter: (letter) =>
        append(file, `${JSON.stringify({ time: new Date(host.now()).toISOString(), ...letter })}\n`),
      inWords,
      withSentence: (failure, words) => ({
        ...failure,
        hint: failure.hint === null ? words : `${failure.hint} ${words}`,
      }),
      delaysMs: flags['retry-fast'] ? FAST_DELAYS_MS : PLATFORM_DELAYS_MS,
      attemptsMax: flags['max-attempts'],
    })
  return Object.assign(run, { allowed: info.ok ? info.data.allowed_updates : undefined })
}

/** Appends to a private file (mode 0600, because updates contain users' messages) and syncs it to disk. */
async function append(path: string | undefined, text: string): Promise<Failure | undefined> {
  if (path === undefined) return undefined
  try {
    refuseForeignFile(path)
    await appendFile(path, text, { mode: 0o600, flush: true })
    await chmod(path, 0o600)
    return undefined
  } catch (error) {
    return fail('FILE_UNWRITABLE', `${path} cannot be written${reasonOf(error)}.`, 'Name another with --dead-letter.')
  }
}
