import { parseBaseUrl } from '../../../client/base-url.js'
import type { Endpoint, InputOf, OutputOf } from '../../../contract/endpoint.js'
import type { ObjectSchema } from '../../../contract/schema.js'
import { isLoopbackHost } from '../../../contract/values/loopback.js'
import type { Context, Ok } from '../../command/context.js'
import { createContext } from '../../command/create-context.js'
import { resolveSettings } from '../../config/settings.js'
import { type Failure, fail } from '../../failures/failure.js'
import type { Globals } from '../../flags/globals.js'
import type { Host } from '../../host/host.js'
import { Output } from '../../output/output.js'
import { inputSchema } from '../../schemas/scenario-schema.js'
import { CALL_MS_MAX, type Described, type Next, type Tool, type ToolCall } from './tool.js'

/** What all calls of one client have in common. */
export interface Session {
  /** The context of `mcp serve`. */
  readonly context: Context
  readonly allowWrite: boolean
  /** Address of the server that ends with the session. */
  readonly ownServer: string | undefined
  /** Tools that run. At the end of the session they are aborted, and it waits until they have removed what they made. */
  readonly running: Set<Promise<unknown>>
}

const nowhere = { write: () => true }

/** A host whose output goes nowhere: stdout carries only the protocol. It keeps the getters, which open streams. */
function silentHost(host: Host, members: Partial<Host>): Host {
  const silent = { stdin: { async *[Symbol.asyncIterator]() {} }, stdout: nowhere, stderr: nowhere, ...members }
  return Object.create(host, Object.getOwnPropertyDescriptors(silent)) as Host
}

interface Limit {
  readonly signal: AbortSignal
  end(): void
}

/** A signal that other signals abort, or a time limit. AbortSignal.any would lose a timeout to the garbage collector. */
export function limited(msMax: number, ...signals: readonly AbortSignal[]): Limit {
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, msMax)
  for (const it of signals) {
    if (it.aborted) abort()
    it.addEventListener('abort', abort, { once: true })
  }
  const end = () => {
    clearTimeout(timer)
    for (const it of signals) it.removeEventListener('abort', abort)
  }
  return { signal: controller.signal, end }
}

/** Opens the context of a call. Settings are read anew, because servers start and stop during a session. */
export function openCall(session: Session, signal: AbortSignal): ToolCall | Failure {
  const contextWith: ToolCall['contextWith'] = (flags, members = {}) => {
    const { context } = session
    const host = silentHost(context.host, { signal, ...members })
    const own = session.ownServer === undefined ? {} : { 'base-url': session.ownServer }
    const globals: Globals = { ...context.globals, ...own, yes: true, quiet: true, 'no-input': true, ...flags }
    const resolved = resolveSettings(host, globals)
    if (!resolved.ok) return resolved
    return createContext(host, globals, resolved.settings, new Output(host, { format: 'json' }), context.line)
  }
  const context = contextWith({})
  if ('code' in context) return context
  const { production, baseUrl } = context.settings
  const isLocal = baseUrl.value === undefined || isLoopbackHost(parseBaseUrl(baseUrl.value).hostname)
  return {
    context,
    isLocal,
    contextWith,
    refuseWrite() {
      if (production.value) return fail('WRITE_NOT_ALLOWED', 'Tools change nothing with a production profile.')
      if (isLocal || session.allowWrite) return undefined
      return fail('WRITE_NOT_ALLOWED', `Tools only read ${baseUrl.value}, which is not on this machine.`, WRITE_HINT)
    },
  }
}

const WRITE_HINT = 'The user can permit changes by starting `voucherctl mcp serve --allow-write`.'

/** Calls an endpoint and hides the secrets of its response, except for members that the caller shows on purpose. */
export async function send<E extends Endpoint>(
  { context }: Pick<ToolCall, 'context'>,
  endpoint: E,
  input: InputOf<E>,
  options: Parameters<Context['call']>[2] & { readonly shown?: readonly string[] } = {},
): Promise<Ok<OutputOf<E>> | Failure> {
  const result = await context.call(endpoint, input, options)
  if (!result.ok) return 'code' in result ? result : fail('ABORTED', 'Nothing was sent.')
  const { Masking } = await import('../../../server/masking.js')
  const masked = new Masking().show(result.data, [endpoint.output]) as Record<string, unknown>
  const members = (options.shown ?? []).map((name) => [name, (result.data as Record<string, unknown>)[name]])
  return { ok: true, value: { ...masked, ...Object.fromEntries(members) } as OutputOf<E> }
}

/** A tool that makes one call: its schemas are those of the endpoint. */
export function endpointTool(endpoint: Endpoint, { next, ...described }: Described & { readonly next?: Next }): Tool {
  const { effect = 'reads', isIdempotent = effect === 'reads' } = described
  return {
    ...{ ...described, effect, isIdempotent, msMax: CALL_MS_MAX },
    input: inputSchema(endpoint) as unknown as ObjectSchema,
    output: endpoint.output,
    async run(call, input) {
      const result = await send(call, endpoint, input)
      return result.ok
        ? { ok: true, text: `${endpoint.id} succeeded.`, data: result.value, ...(next && { next: [next] }) }
        : result
    },
  }
}
