import { type Endpoint, type InputOf, mutates, type OutputOf, pathParameters } from '../../contract/endpoint.js'
import type { Flags, ValuesOf } from '../flags/flags.js'
import type { Outcome, View } from '../output/outcome.js'
import type { Shape } from '../output/select-fields.js'
import { confirmLoss } from './confirmation.js'
import type { Context } from './context.js'

export interface Positional {
  readonly name: string
  readonly summary: string
  /** Question that asks for a missing argument; absent if the argument is optional. */
  readonly ask?: string
  /** True if the argument may repeat: the first value becomes `positional`, the others `rest`. */
  readonly several?: true
  /** Values that completion suggests; the command accepts others too. */
  readonly choices?: readonly string[]
  /** Member of the call that the argument supplies; absent if it has the name of the argument. */
  readonly member?: string
}

type PositionalValue<P> = P extends { ask: string } ? string : P extends Positional ? string | undefined : undefined

export interface Example {
  readonly command: string
  readonly comment?: string
}

/** An example as a definition gives it: a command line alone, or with a comment. */
export type GivenExample = string | Example

interface CommonLeaf<F extends Flags, P extends Positional | undefined, Data, Given = GivenExample> {
  readonly name: string
  /** Paragraphs of help after the list of flags. */
  readonly notes?: readonly string[]
  /** Table of help, such as the values of a flag with their meanings. */
  readonly table?: { readonly title: string; readonly rows: readonly (readonly [string, string])[] }
  readonly positional?: P
  /** Second positional argument, such as the path after an HTTP method. */
  readonly second?: Positional & { readonly ask: string }
  readonly flags?: F
  /**
   * Body members that each flag can set, as paths such as `validity/starts_at`, for error messages. Absent for a member
   * with the name of its flag; several if the value decides which.
   */
  readonly members?: { readonly [Name in keyof F]?: string | readonly string[] }
  readonly examples: readonly Given[]
  /** Schema of the result. With it the command refuses a mistyped `--fields` before it changes anything. */
  readonly output?: Shape
  /** True if the command prints a stream: one document per line, each with the schema `output`. */
  readonly streams?: true
  /** True if the command prints JSON by default; failures stay text. */
  readonly json?: true
  /** True for commands that diagnose settings: they run even if settings are invalid. */
  readonly diagnoses?: true
  readonly view?: View<Data>
}

export interface Leaf<
  F extends Flags = Flags,
  P extends Positional | undefined = Positional | undefined,
  Data = unknown,
  Given = Example,
> extends CommonLeaf<F, P, Data, Given> {
  readonly summary: string
  /** True if the command changes something; `--dry-run` then shows the change. */
  readonly changes?: boolean
  /** True if the call of the command sends an Idempotency-Key. */
  readonly idempotent?: boolean
  /** Statuses of the records that the command can change (`Endpoint.accepts`). */
  readonly accepts?: readonly string[]
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

/** A command whose summary, output schema and `changes` derive from an endpoint. */
interface EndpointLeaf<F extends Flags, P extends Positional | undefined, Data> extends CommonLeaf<F, P, Data> {
  readonly endpoint: Endpoint
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

interface CallLeaf<E extends Endpoint, F extends Flags, P extends Positional | undefined>
  extends CommonLeaf<F, P, OutputOf<E>> {
  readonly endpoint: E
  /** Absent for a call whose whole input is the positional argument, as its path parameter, or that takes none. */
  input?(given: Input<F, P>): InputOf<E>
  /** Returns the id of the resource that an irreversible call affects; the command then asks before the call. */
  loses?(given: Input<F, P>): string
  /** Returns a command that shows whether the change took place, suggested if the outcome is unknown. */
  check?(given: Input<F, P>): string
}

export interface Input<F extends Flags, P> {
  readonly flags: ValuesOf<F>
  readonly positional: PositionalValue<P>
  /** Second positional argument; empty if the command takes none. */
  readonly second: string
  /** Values after the first one of a positional argument that repeats. */
  readonly rest: readonly string[]
}

export interface Group {
  readonly name: string
  readonly alias?: string
  readonly summary: string
  /** Command that runs if only the name of the group is typed. */
  readonly own?: Leaf
  readonly commands: readonly (Node | LazyNode)[]
}

export type Node = Leaf | Group

/** A command or group whose module is loaded only for its own lines, for help and for completion. */
export interface LazyNode {
  readonly name: string
  readonly alias?: string
  load(): Promise<Node>
}

export const loadNode = async (it: Node | LazyNode): Promise<Node> => ('load' in it ? it.load() : it)

export const loadCommands = ({ commands }: Group): Promise<readonly Node[]> => Promise.all(commands.map(loadNode))

/** A group or command on the first help page. */
export interface Entry extends LazyNode {
  readonly summary: string
  readonly section: string
}

/** Other names of a command that people type (rules/cli.md#names-of-commands). */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  list: ['ls'],
  get: ['show'],
  show: ['get'],
  info: ['get', 'show'],
  apply: ['create'],
  remove: ['rm', 'delete'],
  delete: ['rm', 'remove'],
  revoke: ['rm', 'delete'],
}

/** Names of a group or command beside its own, without those that a sibling has. */
export function aliasesOf(node: Node | LazyNode, siblings: readonly (Node | LazyNode)[]): readonly string[] {
  if ('alias' in node && node.alias !== undefined) return [node.alias]
  const taken = siblings.map((it) => it.name)
  return (synonyms[node.name] ?? []).filter((it) => !taken.includes(it))
}

export const isGroup = (node: Node | LazyNode): node is Group => 'commands' in node

export function leaf<
  Data,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: Leaf<F, P, Data, GivenExample> | EndpointLeaf<F, P, Data>): Leaf {
  const described = 'endpoint' in definition ? describe(definition.endpoint) : {}
  const examples = definition.examples.map((it) => (typeof it === 'string' ? { command: it } : it))
  // Drop the type parameters: `execute` passes a command only the values of its own flags.
  return { ...described, ...definition, examples } as unknown as Leaf
}

export function callLeaf<
  E extends Endpoint,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: CallLeaf<E, F, P>): Leaf {
  const { endpoint, loses, check } = definition
  const [parameter] = pathParameters(endpoint.path)
  const { input = ({ positional }) => (parameter ? { [parameter]: positional } : {}) as InputOf<E> } = definition
  return leaf<OutputOf<E>, F, P>({
    ...definition,
    run: async (context, given) => {
      const unconfirmed = loses === undefined ? undefined : await confirmLoss(context, endpoint, loses(given))
      if (unconfirmed !== undefined) return unconfirmed
      return context.call(endpoint, input(given), check === undefined ? {} : { check: check(given) })
    },
  })
}

function describe(endpoint: Endpoint): Pick<Leaf, 'summary' | 'output' | 'changes' | 'idempotent' | 'accepts'> {
  const { summary, output, idempotent, accepts } = endpoint
  return { summary, output, changes: mutates(endpoint), idempotent: idempotent === true, ...(accepts && { accepts }) }
}
