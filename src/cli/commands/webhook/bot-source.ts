import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { platform } from '../../../contract/platform/platform.js'
import { isLoopbackHost } from '../../../contract/values/loopback.js'
import { pause } from '../../../files/pause.js'
import { bridge, PLATFORM_DELAYS_MS } from '../../../workbench/bridge.js'
import type { Listener } from '../../../workbench/listener.js'
import type { Context } from '../../command/context.js'
import { createContext } from '../../command/create-context.js'
import { findCredential } from '../../config/credentials.js'
import { exitOf } from '../../failures/codes.js'
import type { Failure } from '../../failures/failure.js'
import { remember } from '../../host/secrets.js'
import { withRestartedServer } from '../bots/polling.js'
import { type BridgeTarget, bridgeOptions } from './bridge.js'

/** Milliseconds between renewals of the lease, which lasts 30 s. */
const RENEW_MS = 10_000
const CALL_MS = 5_000

type Opened = { readonly close: () => Promise<void> } | Failure
type OnFailure = (failure: Failure) => void

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
  onFailure: OnFailure,
): Promise<Opened> {
  const { host, globals, settings } = context
  const base = context.baseUrl()
  if (!base.ok) return base
  const isLocal =
    isLoopbackHost(new URL(base.value).hostname) &&
    (await findCredential(host, { ...globals, 'token-file': undefined }, settings, 'operator', base.value)).ok
  if (!isLocal) return poll(context, { url: new URL(listener.url), secrets: [secret] }, onFailure)
  return borrow(context, bot, { port: listener.port, secret_token: secret }, onFailure)
}

async function borrow(
  context: Context,
  botId: string,
  listener: { readonly port: number; readonly secret_token: string },
  onFailure: OnFailure,
): Promise<Opened> {
  const lease = { botId, leaseId: context.host.newId() }
  const holder = `webhook listen, process ${process.pid} on ${hostname()}`
  let by = context
  // Ctrl-C aborts no renewal: the server could process it after the end of the lease.
  const limits = () => ({ timeoutMs: CALL_MS, signal: AbortSignal.timeout(CALL_MS), progress: 'Listening' })
  const renew = async () => {
    const renewed = await by.call(platform.borrowWebhook, { ...lease, ...listener, holder }, limits())
    return renewed.ok || 'plan' in renewed ? undefined : renewed
  }
  const refused = await renew()
  if (refused !== undefined) return refused
  const closing = new AbortController()
  const renewals = async () => {
    for (;;) {
      await pause(RENEW_MS, closing.signal)
      const failure = closing.signal.aborted ? undefined : await renew()
      if (closing.signal.aborted) return
      if (failure === undefined) continue
      // A local server that does not respond may be restarting, perhaps on another port.
      if (exitOf(failure) !== 9 && failure.code !== 'BASE_URL_REQUIRED') return onFailure(failure)
      by = withRestartedServer(context)
    }
  }
  const renewing = renewals()
  const close = async () => {
    closing.abort()
    await renewing
    const ended = await by.call(platform.returnWebhook, lease, limits())
    if (!ended.ok) context.output.notice('warning: the server did not confirm that the earlier webhook is back.')
  }
  return { close }
}

/** Polls the updates of the bot whose token is stored, and posts them to the listener. */
function poll(context: Context, target: BridgeTarget, onFailure: OnFailure): Opened {
  const { globals, settings, output, line } = context
  const closing = new AbortController()
  const host = { ...context.host, signal: AbortSignal.any([context.host.signal, closing.signal]) }
  const options = bridgeOptions(createContext(host, globals, settings, output, line), target)
  const bridging = async () => {
    const lines = bridge({ ...options, delaysMs: PLATFORM_DELAYS_MS, attemptsMax: undefined })
    let next = await lines.next()
    while (!next.done) next = await lines.next()
    if (next.value !== undefined) onFailure(next.value)
  }
  const running = bridging()
  const close = () => {
    closing.abort()
    return running
  }
  return { close }
}
