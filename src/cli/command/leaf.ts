import { type Endpoint, type InputOf, mutates, type OutputOf } from '../../contract/endpoint.js'
import type { Flags, ValuesOf } from '../flags/flags.js'
import type { Shape } from '../output/fields.js'
import type { Outcome, View } from '../output/outcome.js'
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

type PositionalValue<P> = P extends { ask: string } ? string : P extends Positional ? string | undefined : undefined

export interface Example {
  readonly command: string
  readonly comment?: string
}

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

/** A group or command on the first page, loaded when it runs. */
export interface Entry {
  readonly name: string
  readonly alias?: string
  readonly summary: string
  readonly section: string
  load(): Promise<Node>
}

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
