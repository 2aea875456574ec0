import { type ObjectSchema, type Properties, type Schema, type Static, Type } from '../../../contract/schema.js'
import type { Context } from '../../command/context.js'
import type { Failure } from '../../failures/failure.js'
import type { Globals } from '../../flags/globals.js'
import type { Host } from '../../host/host.js'

/** One call of a tool: what it gets to run. */
export interface ToolCall {
  /** The context of this call. Its signal is aborted by the client and the time limit; its output goes nowhere. */
  readonly context: Context
  /** True if the chosen server is on this machine. */
  readonly isLocal: boolean
  /** Returns why this session may not change the chosen server; undefined if it may. */
  refuseWrite(): Failure | undefined
  /** Returns the context with other flags, or another environment or input. */
  contextWith(flags: Partial<Globals>, host?: Partial<Pick<Host, 'env' | 'stdin'>>): Context | Failure
}

/** The next tool to call, as a suggestion to the client. */
export interface Next {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
  readonly why: string
}

export interface ToolResult<Data = unknown> {
  readonly ok: true
  /** The result in one sentence, without any text of a server. */
  readonly text: string
  readonly data: Data
  readonly next?: readonly Next[]
  /** True if no part of the data comes from a server: documents of voucherctl. */
  readonly isOwn?: true
  /** True if the data shows codes on purpose. */
  readonly showsCodes?: boolean
}

/** What a tool may change: nothing; what its input says; the state of the server; or it replaces that state. */
type Effect = 'reads' | 'either' | 'changes' | 'replaces'

export interface Tool {
  readonly name: string
  readonly title: string
  /** For a model: when to use the tool, its result, and the next tool. */
  readonly description: string
  readonly input: ObjectSchema
  readonly output: Schema
  readonly effect: Effect
  /** True if a second call with the same input changes nothing more. */
  readonly isIdempotent: boolean
  /** Time limit in ms. */
  readonly msMax: number
  run(call: ToolCall, input: never): Promise<ToolResult | Failure>
}

/** What a definition says; the other members have defaults. */
export type Described = Pick<Tool, 'name' | 'title' | 'description'> &
  Partial<Pick<Tool, 'effect' | 'isIdempotent' | 'msMax'>>

type Definition<P extends Properties, O extends Schema> = Described & {
  readonly input: P
  readonly output: O
  run(call: ToolCall, input: Static<ObjectSchema<P>>): Promise<ToolResult<Static<O>> | Failure>
}

export const CALL_MS_MAX = 60_000

export function tool<const P extends Properties, const O extends Schema>(definition: Definition<P, O>): Tool {
  const { input: properties, effect = 'reads', isIdempotent = effect === 'reads', msMax = CALL_MS_MAX } = definition
  const input = Type.Object(properties, { additionalProperties: false })
  return { ...definition, input, effect, isIdempotent, msMax }
}
