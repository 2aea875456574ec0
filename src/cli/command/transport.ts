import { isTrustedChannel, parseBaseUrl } from '../../client/base-url.js'
import { findProxy } from '../../client/find-proxy.js'
import { createHttpTransport } from '../../client/http.js'
import type { Proxy } from '../../client/proxy.js'
import { withRetry } from '../../client/retry.js'
import type { SecureOptions } from '../../client/secure.js'
import { isTransportError, type Transport, TransportError } from '../../client/transport.js'
import { isLoopbackHost } from '../../values/loopback.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Context } from './context.js'

type TransportContext = Pick<Context, 'globals' | 'settings' | 'output' | 'host'>

/** Returns the proxy of the environment for a server, or a failure that names the malformed variable. */
export async function proxyOf(
  { env }: Pick<Context['host'], 'env'>,
  baseUrl: string,
): Promise<{ readonly ok: true; readonly proxy: Proxy | undefined } | Failure> {
  try {
    return { ok: true, proxy: await findProxy(parseBaseUrl(baseUrl), env) }
  } catch (error) {
    if (!isTransportError(error)) throw error
    return fail('PROXY_INVALID', `${error.message}.`, 'Correct the variable, or unset it.')
  }
}

/** Opens an unencrypted transport without retries; --debug traces it. */
export async function openPlain(context: TransportContext, baseUrl: string): Promise<Transport> {
  return overWire(context, baseUrl, createHttpTransport(baseUrl, context.host.env))
}

/** Opens an unencrypted transport that reuses connections, for many calls. */
export async function openPool(
  context: TransportContext,
  baseUrl: string,
  connections: number,
): Promise<{ readonly send: Transport; close(): Promise<void> }> {
  const { createPoolTransport } = await import('../../client/pool.js')
  const { send, close } = createPoolTransport(baseUrl, { connections }, context.host.env)
  return { send: await overWire(context, baseUrl, send), close }
}

async function overWire(context: TransportContext, baseUrl: string, http: Transport): Promise<Transport> {
  const { globals, output, host } = context
  const sending = globals.debug ? (await import('./debug.js')).traced(http, baseUrl, output, host.now) : http
  return guardCredentials(context, baseUrl, sending)
}

/**
 * Warns before a credential goes over plain http to another machine, and refuses it with a production profile
 * (rules/cli.md#credentials-over-http). Encrypted requests pass, because their envelope contains the credential.
 */
function guardCredentials({ settings, output }: TransportContext, baseUrl: string, send: Transport): Transport {
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

/** Opens a transport with the encryption mode from the settings; --debug also traces requests before encryption. */
export async function openInMode(
  context: TransportContext,
  baseUrl: string,
  mode = context.settings.secure.mode.value,
  opened?: Transport,
): Promise<Transport> {
  const plain = opened ?? (await openPlain(context, baseUrl))
  if (mode === 'off') return plain
  const { isSecured, withSecure } = await import('../../client/secure.js')
  const secured = withSecure(plain, { ...(await secureOptions(context, baseUrl)), mode })
  if (!context.globals.debug) return secured
  const { tracedInside } = await import('./debug.js')
  return tracedInside(secured, isSecured, mode, context.output)
}

export async function secureOptions(
  { settings, host, output }: TransportContext,
  baseUrl: string,
): Promise<SecureOptions> {
  const { mode, origin, pins } = settings.secure
  const { downgradeProtection } = await import('./downgrade-protection.js')
  return {
    mode: mode.value,
    pins: pins.value,
    downgradeProtection: downgradeProtection({ settings, host, output }, baseUrl),
    trustedChannel: isTrustedChannel(baseUrl),
    now: host.now,
    ...(origin.value === undefined ? {} : { origin: origin.value }),
  }
}

/** Wraps a transport so that it retries transient failures; each retry makes a new envelope. */
export function withRetries({ globals, settings, output }: TransportContext, transport: Transport): Transport {
  const onRetry = ({ attempt, delayMs, code }: { attempt: number; delayMs: number; code: string }) => {
    if (globals.debug) output.trace(`attempt ${attempt} failed (${code}); retry in ${Math.round(delayMs)} ms`)
  }
  return withRetry(transport, { tries: settings.retries.value + 1, onRetry })
}
