import { isTrustedChannel } from '../client/base-url.js'
import { createHttpTransport } from '../client/http.js'
import { withRetry } from '../client/retry.js'
import type { SecureOptions } from '../client/secure.js'
import { isSecured, withSecure } from '../client/secure.js'
import type { Transport } from '../client/transport.js'
import type { Context } from './context.js'

/** What the transports of a command are made from. */
export type Opener = Pick<Context, 'globals' | 'settings' | 'output' | 'host'>

/** One try over the wire, shown with --debug. */
export async function openPlain(opener: Opener, baseUrl: string): Promise<Transport> {
  return withTrace(opener, baseUrl, createHttpTransport(baseUrl))
}

/** The same over kept connections, for many calls. */
export async function openPool(
  opener: Opener,
  baseUrl: string,
  connections: number,
): Promise<{ readonly send: Transport; close(): Promise<void> }> {
  const { createPoolTransport } = await import('../client/pool.js')
  const { send, close } = createPoolTransport(baseUrl, { connections })
  return { send: await withTrace(opener, baseUrl, send), close }
}

async function withTrace({ globals, output, host }: Opener, baseUrl: string, http: Transport): Promise<Transport> {
  return globals.debug ? (await import('./debug.js')).traced(http, baseUrl, output, host.now) : http
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
  const { profileLatch } = await import('./latch.js')
  return {
    mode: mode.value,
    pins: pins.value,
    latch: profileLatch({ settings, host, output }, baseUrl),
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
