import { type Endpoint, type InputOf, mutates, type OutputOf } from '../../contract/endpoint.js'
import { usage } from '../failures/failure.js'
import { type Flags, type FlagTexts, inWords, type ValuesOf } from '../flags/flags.js'
import type { Outcome, View } from '../output/outcome.js'
import type { Shape } from '../output/select-fields.js'
import { confirmLoss } from './confirmation.js'
import type { Context } from './context.js'
import { argumentOf, bindArgument, bindFlags, changesNothing, inputOf, subjectOf } from './member-flags.js'

export interface Positional {
  readonly name: string
  readonly summary: string
  /** Question that asks for a missing argument; absent if the argument is optional. */
  readonly ask?: string
  /** True if the argument may repeat: the first value becomes `positional`, the others `rest`. */
  readonly several?: true
  /** Values that completion suggests; the command accepts others too. */
  readonly choices?: readonly string[]
  /** Member of the call that the argument supplies; `leaf` finds one with the name of the argument. */
  readonly member?: string
}

type PositionalValue<P> = P extends { ask: string } ? string : P extends Positional ? string | undefined : undefined

export interface Example {
  readonly command: string
  readonly comment?: string
}

/** An example as a definition gives it: a command line alone, or with a comment. */
export type GivenExample = string | Example

export interface CommonLeaf<F extends Flags, P extends Positional | undefined, Data, Given = GivenExample> {
  readonly name: string
  /** Paragraphs of help after the list of flags. */
  readonly notes?: readonly string[]
  /** Table of help, such as the values of a flag with their meanings. */
  readonly table?: { readonly title: string; readonly rows: readonly (readonly [string, string])[] }
  /** Default, for an endpoint: the record whose id no flag supplies. */
  readonly positional?: P
  /** Second positional argument, such as the path after an HTTP method. */
  readonly second?: Positional & { readonly ask: string }
  readonly flags?: F
  readonly examples: readonly Given[]
  /** Routes that the command calls besides its endpoint, by id, each with the flags that choose it. */
  readonly alsoCalls?: Readonly<Record<string, string>>
  /** Schema of the result. With it the command refuses a mistyped `--fields` before it changes anything. */
  readonly output?: Shape
  /** True if the command prints a stream: one document per line, each with the schema `output`. */
  readonly streams?: true
  /** True if the command prints JSON by default; failures stay text. */
  readonly json?: true
  /** True for commands that diagnose settings: they run even if settings are invalid. */
  readonly diagnoses?: true
  /** Returns false for a line that needs no base URL, which therefore ignores an invalid VOUCHERCTL_BASE_URL. */
  readonly needsBaseUrl?: (given: FlagTexts) => boolean
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
  readonly endpoint?: Endpoint
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

/** A command whose summary, output schema, `changes`, and flags of members derive from an endpoint. */
interface EndpointLeaf<E extends Endpoint, F extends Flags, P extends Positional | undefined, Data>
  extends CommonLeaf<F, P, Data> {
  readonly endpoint: E
  readonly summary?: string
  /** @param given also has the input of the call, from the argument and the flags of its members */
  run(context: Context, given: CallInput<E, F, P>): Promise<Outcome<Data>>
}

interface CallLeaf<E extends Endpoint, F extends Flags, P extends Positional | undefined>
  extends CommonLeaf<F, P, OutputOf<E>> {
  readonly endpoint: E
  /** Changes the input that derives from the argument and the flags. */
  input?(given: CallInput<E, F, P>): InputOf<E>
  /** Returns a command that shows whether the change took place, suggested if the outcome is unknown. */
  check?(given: CallInput<E, F, P>): string
  /** The flags that the refusal of a change without any names, if not all. */
  readonly typical?: readonly (keyof F & string)[]
}

type CallInput<E extends Endpoint, F extends Flags, P> = Input<F, ArgumentOf<E, P>, InputOf<E>> & {
  readonly input: InputOf<E>
}

/** The argument of a command; without a definition, the argument for the path parameter, if the path has one. */
type ArgumentOf<E, P> = P extends Positional
  ? P
  : E extends { params: unknown }
    ? Positional & { ask: string }
    : undefined

export interface Input<F extends Flags, P, I = unknown> {
  readonly flags: ValuesOf<F, I>
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
  E extends Endpoint,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: EndpointLeaf<E, F, P, Data>): Leaf
export function leaf<
  Data,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: Omit<Leaf<F, P, Data, GivenExample>, 'endpoint'>): Leaf
export function leaf(definition: { examples: readonly GivenExample[]; endpoint?: Endpoint }): Leaf {
  const { endpoint } = definition
  const examples = definition.examples.map((it) => (typeof it === 'string' ? { command: it } : it))
  // Drop the type parameters: `execute` passes a command only the values of its own flags.
  const erased = { ...definition, examples } as unknown as Leaf
  return endpoint === undefined ? erased : { ...describe(endpoint), ...erased, ...bind(endpoint, erased) }
}

export function callLeaf<
  E extends Endpoint,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: CallLeaf<E, F, P>): Leaf {
  const { endpoint, check, flags = {}, typical, input: refine = (given) => given.input } = definition
  return leaf<OutputOf<E>, E, F, P>({
    ...definition,
    run: async (context, given) => {
      const input = refine(given)
      if (endpoint.method === 'PATCH' && changesNothing(endpoint, input)) {
        const names = typical === undefined ? inWords(Object.keys(flags)) : `a flag such as ${inWords(typical)}`
        return usage('Nothing to change.', `Give ${names}.`)
      }
      return (
        (await confirmLoss(context, endpoint, subjectOf(endpoint, input))) ??
        context.call(endpoint, input, check === undefined ? {} : { check: check(given) })
      )
    },
  })
}

export const OPERATOR_NOTE =
  "The operator's side of a local server. It needs the operator key, which the command line finds on the machine of the server."

/** Binds the flags and the argument of a command to the members of its call. */
function bind(endpoint: Endpoint, { flags: given = {}, positional: argument, notes = [], run }: Leaf): Partial<Leaf> {
  const flags = bindFlags(endpoint, given)
  const positional = argument ? bindArgument(endpoint, argument) : argumentOf(endpoint, flags)
  return {
    flags,
    positional,
    notes: endpoint.caller === 'operator' ? [...notes, OPERATOR_NOTE] : notes,
    run: (context, it) => run(context, { ...it, input: inputOf(flags, positional, it) } as typeof it),
  }
}

function describe(endpoint: Endpoint): Pick<Leaf, 'summary' | 'output' | 'changes' | 'idempotent'> {
  const { summary, output, idempotent } = endpoint
  return { summary, output, changes: mutates(endpoint), idempotent: idempotent === true }
}
