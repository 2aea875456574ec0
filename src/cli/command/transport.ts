import { isTrustedChannel, parseBaseUrl } from '../../client/base-url.js'
import { createHttpTransport } from '../../client/http.js'
import { withRetry } from '../../client/retry.js'
import { isSecured, type SecureOptions, withSecure } from '../../client/secure.js'
import { type Transport, TransportError } from '../../client/transport.js'
import { isLoopbackHost } from '../../contract/loopback.js'
import type { Context } from './context.js'

/** What the transports of a command are made from. */
type Opener = Pick<Context, 'globals' | 'settings' | 'output' | 'host'>

/** One try over the wire, shown with --debug. */
export async function openPlain(opener: Opener, baseUrl: string): Promise<Transport> {
  return overWire(opener, baseUrl, createHttpTransport(baseUrl))
}

/** The same over kept connections, for many calls. */
export async function openPool(
  opener: Opener,
  baseUrl: string,
  connections: number,
): Promise<{ readonly send: Transport; close(): Promise<void> }> {
  const { createPoolTransport } = await import('../../client/pool.js')
  const { send, close } = createPoolTransport(baseUrl, { connections })
  return { send: await overWire(opener, baseUrl, send), close }
}

async function overWire(opener: Opener, baseUrl: string, http: Transport): Promise<Transport> {
  const { globals, output, host } = opener
  const sending = globals.debug ? (await import('./debug.js')).traced(http, baseUrl, output, host.now) : http
  return guardCredentials(opener, baseUrl, sending)
}

/**
 * Warns before a credential goes to another machine over plain http, and refuses it with a production profile
 * (DECISIONS.md#credentials-over-http). An envelope of the encrypted transport has no credential here.
 */
function guardCredentials({ settings, output }: Opener, baseUrl: string, send: Transport): Transport {
  const base = parseBaseUrl(baseUrl)
  if (base.secure || isLoopbackHost(base.hostname)) return send
  return async (request) => {
    if (request.headers.authorization === undefined) return send(request)
    const { host } = new URL(baseUrl)
    if (settings.production.value) throw unencryptedCredential(host)
    output.warn(
      `The token goes unencrypted over http to ${host}, readable on the way. Use an https base URL, or --secure required.`,
    )
    return send(request)
  }
}

function unencryptedCredential(host: string): TransportError {
  const message = `A production profile sends no token over plain http to another machine (${host}).`
  const secure = { code: 'CREDENTIAL_UNENCRYPTED', phase: 'local', status: 0, headers: {}, retryable: false } as const
  return new TransportError('secure', message, { maybeProcessed: false, secure })
}

/** The same in the chosen mode of the encrypted transport; with --debug, what is inside is shown as well. */
export async function openInMode(
  opener: Opener,
  baseUrl: string,
  mode = opener.settings.secure.mode.value,
  opened?: Transport,
): Promise<Transport> {
  const plain = opened ?? (await openPlain(opener, baseUrl))
  if (mode === 'off') return plain
  const secured = withSecure(plain, { ...(await secureOptions(opener, baseUrl)), mode })
  if (!opener.globals.debug) return secured
  const { tracedInside } = await import('./debug.js')
  return tracedInside(secured, isSecured, mode, opener.output)
}

/** Origin, pins and latch as they are settled for the server. */
export async function secureOptions({ settings, host, output }: Opener, baseUrl: string): Promise<SecureOptions> {
  const { mode, origin, pins } = settings.secure
  const { downgradeProtection } = await import('./downgrade-protection.js')
  return {
    mode: mode.value,
    pins: pins.value,
    latch: downgradeProtection({ settings, host, output }, baseUrl),
    trustedChannel: isTrustedChannel(baseUrl),
    now: host.now,
    ...(origin.value === undefined ? {} : { origin: origin.value }),
  }
}

/** Repeats what may be repeated; each repeat is a new envelope. */
export function withRepeats({ globals, settings, output }: Opener, transport: Transport): Transport {
  const onRepeat = ({ attempt, delayMs, code }: { attempt: number; delayMs: number; code: string }) => {
    if (globals.debug) output.trace(`try ${attempt} failed (${code}); the next in ${Math.round(delayMs)} ms`)
  }
  return withRetry(transport, { tries: settings.retries.value + 1, onRepeat })
}
