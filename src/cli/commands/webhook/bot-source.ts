import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { platform } from '../../../contract/platform/platform.js'
import type { UpdateType } from '../../../contract/updates.js'
import { webhook } from '../../../contract/webhook.js'
import { pause } from '../../../files/pause.js'
import { bridge, PLATFORM_DELAYS_MS } from '../../../workbench/bridge.js'
import type { Listener } from '../../../workbench/listener.js'
import type { Context } from '../../command/context.js'
import { createContext } from '../../command/create-context.js'
import { idOf } from '../../command/names.js'
import { findServerAt, isProven } from '../../config/local-server.js'
import { exitOf } from '../../failures/codes.js'
import type { Failure } from '../../failures/failure.js'
import { remember } from '../../host/secrets.js'
import { withRestartedServer } from '../bots/polling.js'
import { type BridgeTarget, bridgeOptions } from './bridge.js'

/** Milliseconds between renewals of the lease, which lasts 30 s. */
const RENEW_MS = 10_000
const CALL_MS = 5_000

/** Delivers updates to the listener until the signal aborts. Resolves with the failure that ends it early. */
type Source = (() => Promise<Failure | undefined>) & Allowed
/** The bot's allowed_updates, if the server reports them. */
type Allowed = { readonly allowed: readonly UpdateType[] | undefined }

export function newSecret({ host }: Context): string {
  const secret = randomBytes(32).toString('base64url')
  remember(host, secret)
  return secret
}

/**
 * Borrows the webhook of a bot on a local server, or polls its updates (RULES.md#borrowed-webhooks), until `close`.
 * @param onFailure called if that ends early
 */
export async function openBotSource(
  context: Context,
  bot: string,
  secret: string,
  listener: Listener,
  onFailure: (failure: Failure) => void,
): Promise<(Allowed & { readonly close: () => Promise<void> }) | Failure> {
  const base = context.baseUrl()
  if (!base.ok) return base
  const closing = new AbortController()
  const { signal } = closing
  // A tunnel to a remote server has a loopback address too. Without its operator API a server lends nothing.
  const server = findServerAt(context.host, context.settings, new URL(base.value).origin)
  const lends = server !== undefined && server.operator_key_file !== null && (await isProven(server))
  const source = lends
    ? await borrow(context, bot, { port: listener.port, secret_token: secret }, signal)
    : await poll(context, { url: new URL(listener.url), secrets: [secret] }, signal)
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
  bot: string,
  listener: { readonly port: number; readonly secret_token: string },
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
    const renewed = await by.call(platform.borrowWebhook, { ...lease, ...listener, holder }, limits())
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

/** Polls the updates of the bot whose token is stored, and posts them to the listener. */
async function poll(context: Context, target: BridgeTarget, signal: AbortSignal): Promise<Source | Failure> {
  const { globals, settings, output, line } = context
  const host = { ...context.host, signal: AbortSignal.any([context.host.signal, signal]) }
  const options = bridgeOptions(createContext(host, globals, settings, output, line), target)
  // The first poll confirms nothing: its response shows whether this bot may poll.
  const first = await options.poll(undefined, 'none')
  if (!first.ok) return first.failure
  const info = await context.call(webhook.info, {}, { timeoutMs: CALL_MS })
  const run = async () => {
    const lines = bridge({ ...options, delaysMs: PLATFORM_DELAYS_MS, attemptsMax: undefined, ready: () => undefined })
    let next = await lines.next()
    while (!next.done) next = await lines.next()
    return next.value
  }
  return Object.assign(run, { allowed: info.ok ? info.data.allowed_updates : undefined })
}
