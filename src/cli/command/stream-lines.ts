import { isTrustedChannel } from '../../client/base-url.js'
import type { CallFailure } from '../../client/result.js'
import { refusePlain } from '../../client/secure.js'
import { isTransportError } from '../../client/transport.js'
import type { Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import { refuseImpostor } from '../config/local-server.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Context, Ok } from './context.js'

type Streaming = Endpoint & { readonly streams: true }

/** The chosen server with its operator key. */
export async function operatorTarget(
  context: Context,
): Promise<Ok<{ readonly baseUrl: string; readonly token: string }> | Failure> {
  const base = context.baseUrl()
  if (!base.ok) return base
  const credential = await context.credential('operator', base.value)
  return credential.ok ? { ok: true, value: { baseUrl: base.value, token: credential.value } } : credential
}

/** Opens an endpoint that responds with NDJSON; such a response cannot be encrypted. */
export async function openStream<E extends Streaming>(
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  target: { readonly baseUrl: string; readonly token: string },
  endpoint: E,
  input: InputOf<E>,
): Promise<Ok<AsyncIterable<OutputOf<E>>> | Failure> {
  const { baseUrl, token } = target
  const refusal = refusePlain({ mode: settings.secure.mode.value, trustedChannel: isTrustedChannel(baseUrl) })
  if (refusal !== undefined) return fail('SECURE_PLAIN_REFUSED', refusal.message, 'Use an https base URL for it.')
  const impostor = await refuseImpostor(settings, baseUrl)
  if (impostor !== undefined) return impostor
  const { createStream } = await import('../../client/stream.js')
  const options = { signal: host.signal, timeoutMs: settings.timeoutMs.value }
  const opened = await createStream(baseUrl, { token }, host.env)(endpoint, input, options)
  if (opened.ok) return { ok: true, value: opened.data }
  const { fromCall } = await import('../failures/call-failure.js')
  return fromCall(opened)
}

/** Yields the documents of a stream; if the stream breaks, it ends and returns the failure. Ctrl-C ends it. */
export async function* untilBroken<Line>(
  documents: AsyncIterable<Line>,
  signal: AbortSignal,
): AsyncGenerator<Line, Failure | undefined> {
  try {
    yield* documents
    return undefined
  } catch (error) {
    if (signal.aborted) return undefined
    if (!isTransportError(error)) throw error
    const { fromCall } = await import('../failures/call-failure.js')
    if (error.cause !== undefined) return fromCall(error.cause as CallFailure)
    if (error.kind === 'timeout') return fail('TIMEOUT', `${error.message}.`, 'Wait longer with --timeout.')
    return fail('NETWORK_ERROR', `${error.message}.`, 'The server may have stopped.')
  }
}

/** Collects lines up to the last one; returns the failure with which they ended. */
export async function collect<Line>(
  lines: AsyncGenerator<Line, Failure | undefined>,
  isLast: (line: Line, count: number) => boolean = () => false,
): Promise<Ok<Line[]> | Failure> {
  const value: Line[] = []
  for (;;) {
    const next = await lines.next()
    if (next.done) return next.value ?? { ok: true, value }
    const count = value.push(next.value)
    if (isLast(next.value, count)) break
  }
  await lines.return(undefined)
  return { ok: true, value }
}
