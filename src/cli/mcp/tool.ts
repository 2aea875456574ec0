import type { Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import { type ObjectSchema, type Properties, type Schema, type Static, Type } from '../../contract/schema.js'
import type { Context, Ok } from '../command/context.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { inputSchema } from '../schemas/scenario-schema.js'

/** One call of a tool: what it gets to run. */
export interface ToolCall {
  /** The context of this call. Its signal is aborted by the client and the time limit; its output goes nowhere. */
  readonly context: Context
  /** Command lines that the user permitted for the tool `prove`. */
  readonly programs: readonly string[]
  /** True if the chosen server is on this machine. */
  readonly isLocal: boolean
  /** Returns why this session may not change the chosen server; undefined if it may. */
  refuseWrite(): Failure | undefined
  /** Returns the context with other flags, or another environment. */
  contextWith(flags: Partial<Globals>, env?: Host['env']): Context | Failure
}

/** The next tool to call, as a suggestion to the client. */
export interface Next {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly why: string
}

export const suggest = (tool: string, input: Next['arguments'], why: string): Next => ({ tool, arguments: input, why })

export interface ToolResult<Data = unknown> {
  readonly ok: true
  /** The result in one sentence, without any text of a server. */
  readonly text: string
  readonly data: Data
  readonly next: readonly Next[]
  /** True if the data shows codes on purpose. */
  readonly showsCodes?: boolean
}

export const succeed = <Data>(text: string, data: Data, next: readonly Next[] = []): ToolResult<Data> => {
  return { ok: true, text, data, next }
}

/** Names no members, because a server may have chosen their names. */
export const otherForm = fail('INVALID_RESPONSE', 'The server sent data of another form.')

export interface Tool {
  readonly name: string
  readonly title: string
  /** For a model: when to use the tool, its result, and the next tool. */
  readonly description: string
  readonly input: ObjectSchema
  readonly output: Schema
  /** What a tool may change: nothing; what its input says; the state of the server; or it replaces that state. */
  readonly effect: 'reads' | 'either' | 'changes' | 'replaces'
  /** True if a second call with the same input changes nothing more. */
  readonly isIdempotent: boolean
  readonly msMax: number
  /** True for data from voucherctl's own documents: it needs no warning about third parties. */
  readonly isOwn: boolean
  run(call: ToolCall, input: never): Promise<ToolResult | Failure>
}

/** What a definition says; the other members have defaults. */
type Described = Pick<Tool, 'name' | 'title' | 'description'> &
  Partial<Pick<Tool, 'effect' | 'isIdempotent' | 'msMax' | 'isOwn'>>

type Definition<P extends Properties, O extends Schema> = Described & {
  readonly input: P
  readonly output: O
  run(call: ToolCall, input: Static<ObjectSchema<P>>): Promise<ToolResult<Static<O>> | Failure>
}

/** Below the 60 s after which clients give up, so that they get the reason. */
const CALL_MS_MAX = 55_000

const defaults = (effect: Tool['effect']) => {
  return { effect, isIdempotent: effect === 'reads', msMax: CALL_MS_MAX, isOwn: false }
}

export function tool<const P extends Properties, const O extends Schema>(definition: Definition<P, O>): Tool {
  const input = Type.Object(definition.input, { additionalProperties: false })
  return { ...defaults(definition.effect ?? 'reads'), ...definition, input }
}

/** A tool that makes one call: it has the schemas of the endpoint. */
export function endpointTool(endpoint: Endpoint, { next, ...described }: Described & { readonly next?: Next }): Tool {
  return {
    ...defaults(described.effect ?? 'reads'),
    ...described,
    input: inputSchema(endpoint) as unknown as ObjectSchema,
    output: endpoint.output,
    async run(call, input) {
      const result = await send(call, endpoint, input)
      return result.ok ? succeed(`${endpoint.id} succeeded.`, result.value, next && [next]) : result
    },
  }
}

/** Hiding secrets in more than these characters of JSON would take seconds. */
const RESPONSE_MAX = 8 * 1024 * 1024

/** Calls an endpoint and hides the secrets of its response, except for members that the caller shows on purpose. */
export async function send<E extends Endpoint>(
  { context }: Pick<ToolCall, 'context'>,
  endpoint: E,
  input: InputOf<E>,
  options: Parameters<Context['call']>[2] & { readonly shown?: readonly string[] } = {},
): Promise<Ok<OutputOf<E>> | Failure> {
  const result = await context.call(endpoint, input, options)
  if (!result.ok) return 'code' in result ? result : fail('ABORTED', 'Nothing was sent.')
  if (JSON.stringify(result.data)?.length > RESPONSE_MAX)
    return fail('INVALID_RESPONSE', 'The response is larger than 8 MiB.', 'Ask for less, such as with `limit`.')
  const { Masking } = await import('../../server/masking.js')
  const masked = new Masking().show(result.data, [endpoint.output]) as Record<string, unknown>
  const members = (options.shown ?? []).map((name) => [name, (result.data as Record<string, unknown>)[name]])
  return { ok: true, value: { ...masked, ...Object.fromEntries(members) } as OutputOf<E> }
}
