import { type Endpoint, type InputOf, mutates, type OutputOf } from '../../contract/endpoint.js'
import type { Failure } from '../failure.js'
import type { Flags, ValuesOf } from '../flags/flags.js'
import type { Shape } from '../output/fields.js'
import type { List } from '../output/show.js'
import { confirmLoss } from './confirmation.js'
import type { Context } from './context.js'

/** The one thing that a command acts on. */
export interface Positional {
  readonly name: string
  readonly summary: string
  /** What a person is asked when it is missing; absent where it is optional. */
  readonly ask?: string
  /** Any number of them: the first is the positional, the others are `rest`. */
  readonly several?: true
  /** Completed, not enforced. */
  readonly choices?: readonly string[]
}

export type PositionalValue<P> = P extends { ask: string }
  ? string
  : P extends Positional
    ? string | undefined
    : undefined

export interface Example {
  readonly command: string
  readonly comment?: string
}

/** How a result is shown to a person; every other format prints the data itself. */
export interface View<Data> {
  /** One sentence above: what happened; or each line of a stream. */
  readonly headline?: (data: Data) => string | undefined
  /** Members in this order: of the record, or the columns of `items`. Absent: all. `*` names every member. */
  readonly members?: readonly string[]
  /** Text in place of the members. */
  readonly body?: (data: Data) => string
  /** A member that no later answer holds, and what to do when `--fields` leaves it out. */
  readonly shownOnce?: { readonly member: string; readonly otherwise: string }
  /** One sentence on stderr, on a terminal only: what comes next. */
  readonly next?: (data: Data) => string | undefined
}

export interface Answer<Data> {
  readonly ok: true
  readonly data: Data
  /** Exit code when it is not 0: an answer that a script wants to branch on. */
  readonly exit?: number
  /** True where a command that may change something has only read this time. */
  readonly reads?: true
  /** True for a replay: the server returned the response of an earlier call. */
  readonly replayed?: true
}

/** A list page by page: so much of it is held that memory stays flat. At the end a failure when there should have been more. */
export interface Pages {
  readonly ok: true
  readonly pages: AsyncGenerator<List, Failure | undefined>
}

/** Documents as they arrive, one a line; at the end a failure when there should have been more. */
export interface Lines<Data> {
  readonly ok: true
  readonly lines: AsyncGenerator<Data, Failure | undefined>
}

/** A dry run: what would have been done. */
export interface Plan {
  readonly ok: false
  readonly plan: readonly unknown[]
}

/** Everything was printed by the command itself, because it came bit by bit. */
export interface Printed {
  readonly ok: true
  readonly printed: true
  readonly exit?: number
}

export type Outcome<Data> = Answer<Data> | Pages | Lines<Data> | Printed | Plan | Failure

interface CommonLeaf<F extends Flags, P extends Positional | undefined, Data> {
  readonly name: string
  /** Further paragraphs of its help. */
  readonly notes?: readonly string[]
  readonly positional?: P
  /** A second thing, where one does not say what is meant: a method goes with a path. */
  readonly second?: Positional & { readonly ask: string }
  readonly flags?: F
  readonly examples: readonly Example[]
  /** What it prints, as the contract has it: a mistyped `--fields` is then refused before anything is changed. */
  readonly output?: Shape
  /** True when it prints lines of that shape as they come: a mistyped `--fields` is refused before the first. */
  readonly streams?: true
  /** True when its result is JSON unless another format was chosen; failures stay words for a person. */
  readonly json?: true
  /** True when it says what is wrong with the settings: it runs where every other command is refused. */
  readonly diagnoses?: true
  readonly view?: View<Data>
}

export interface Leaf<
  F extends Flags = Flags,
  P extends Positional | undefined = Positional | undefined,
  Data = unknown,
> extends CommonLeaf<F, P, Data> {
  readonly summary: string
  /** True when it changes something: `--dry-run` then shows what. */
  readonly changes?: boolean
  /** True when its call carries an Idempotency-Key. */
  readonly idempotent?: boolean
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

/** A command about one endpoint, which says what it does, what it prints and whether it changes something. */
interface EndpointLeaf<F extends Flags, P extends Positional | undefined, Data> extends CommonLeaf<F, P, Data> {
  readonly endpoint: Endpoint
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

/** A command that is one call. */
interface CallLeaf<E extends Endpoint, F extends Flags, P extends Positional | undefined>
  extends CommonLeaf<F, P, OutputOf<E>> {
  readonly endpoint: E
  input(given: Input<F, P>): InputOf<E>
  /** Id of the resource that an irreversible call acts on: the command asks first. */
  loses?(given: Input<F, P>): string
  /** A command that shows whether the call took place, for an outcome that is unknown. */
  check?(given: Input<F, P>): string
}

export interface Input<F extends Flags, P> {
  readonly flags: ValuesOf<F>
  readonly positional: PositionalValue<P>
  /** Empty where the command takes none. */
  readonly second: string
  /** Of a positional that takes several: all but the first. */
  readonly rest: readonly string[]
}

export interface Group {
  readonly name: string
  readonly alias?: string
  readonly summary: string
  /** What the name does by itself, beside the commands beneath it. */
  readonly own?: Leaf
  readonly commands: readonly Node[]
}

export type Node = Leaf | Group

export const isGroup = (node: Node): node is Group => 'commands' in node

export function leaf<
  Data,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: Leaf<F, P, Data> | EndpointLeaf<F, P, Data>): Leaf {
  const whole = 'endpoint' in definition ? { ...describe(definition.endpoint), ...definition } : definition
  // Input and data are the definition's own affair: it is called with what its flags read.
  return whole as unknown as Leaf
}

export function callLeaf<
  E extends Endpoint,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: CallLeaf<E, F, P>): Leaf {
  const { endpoint, input, loses, check } = definition
  return leaf<OutputOf<E>, F, P>({
    ...definition,
    run: async (context, given) => {
      const unconfirmed = loses === undefined ? undefined : await confirmLoss(context, endpoint.id, loses(given))
      if (unconfirmed !== undefined) return unconfirmed
      return context.call(endpoint, input(given), check === undefined ? {} : { check: check(given) })
    },
  })
}

function describe(endpoint: Endpoint): Pick<Leaf, 'summary' | 'output' | 'changes' | 'idempotent'> {
  const { summary, output, idempotent } = endpoint
  return { summary, output, changes: mutates(endpoint), idempotent: idempotent === true }
}
