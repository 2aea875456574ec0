import { type Endpoint, type InputOf, mutates, type OutputOf } from '../../contract/endpoint.js'
import type { Flags, ValuesOf } from '../flags/flags.js'
import type { Shape } from '../output/fields.js'
import type { Outcome, View } from '../output/outcome.js'
import { confirmLoss } from './confirmation.js'
import type { Context } from './context.js'

/** A positional argument of a command. */
export interface Positional {
  readonly name: string
  readonly summary: string
  /** Prompt for a missing argument; absent if it is optional. */
  readonly ask?: string
  /** True if it repeats: the first value is `positional`, the others are `rest`. */
  readonly several?: true
  /** Values for completion; others are valid too. */
  readonly choices?: readonly string[]
}

type PositionalValue<P> = P extends { ask: string } ? string : P extends Positional ? string | undefined : undefined

export interface Example {
  readonly command: string
  readonly comment?: string
}

interface CommonLeaf<F extends Flags, P extends Positional | undefined, Data> {
  readonly name: string
  /** Additional paragraphs of help. */
  readonly notes?: readonly string[]
  readonly positional?: P
  /** A second positional, such as the path after a method. */
  readonly second?: Positional & { readonly ask: string }
  readonly flags?: F
  readonly examples: readonly Example[]
  /** Shape of the result, which lets the command refuse a mistyped `--fields` before it changes anything. */
  readonly output?: Shape
  /** True if the command prints a stream of lines of that shape, which lets it refuse a mistyped `--fields` first. */
  readonly streams?: true
  /** True if the default format of results is JSON; failures stay texts. */
  readonly json?: true
  /** True if the command diagnoses settings, so that it runs even with invalid ones. */
  readonly diagnoses?: true
  readonly view?: View<Data>
}

export interface Leaf<
  F extends Flags = Flags,
  P extends Positional | undefined = Positional | undefined,
  Data = unknown,
> extends CommonLeaf<F, P, Data> {
  readonly summary: string
  /** True if the command changes something, which `--dry-run` then shows. */
  readonly changes?: boolean
  /** True if its call carries an Idempotency-Key. */
  readonly idempotent?: boolean
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

/** A command whose summary, output and `changes` come from an endpoint. */
interface EndpointLeaf<F extends Flags, P extends Positional | undefined, Data> extends CommonLeaf<F, P, Data> {
  readonly endpoint: Endpoint
  run(context: Context, input: Input<F, P>): Promise<Outcome<Data>>
}

/** A command that makes one call. */
interface CallLeaf<E extends Endpoint, F extends Flags, P extends Positional | undefined>
  extends CommonLeaf<F, P, OutputOf<E>> {
  readonly endpoint: E
  input(given: Input<F, P>): InputOf<E>
  /** Id of the resource that an irreversible call acts on; the command prompts before the call. */
  loses?(given: Input<F, P>): string
  /** A command to suggest if the outcome is unknown: it shows whether the call took place. */
  check?(given: Input<F, P>): string
}

export interface Input<F extends Flags, P> {
  readonly flags: ValuesOf<F>
  readonly positional: PositionalValue<P>
  /** Empty if the command takes none. */
  readonly second: string
  /** All values but the first of a positional that repeats. */
  readonly rest: readonly string[]
}

export interface Group {
  readonly name: string
  readonly alias?: string
  readonly summary: string
  /** The command that runs if no subcommand follows the name. */
  readonly own?: Leaf
  readonly commands: readonly Node[]
}

export type Node = Leaf | Group

/** A group or command of the first help page, loaded when it runs. */
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
  // Erase the type parameters: `execute` calls it only with values of its own flags.
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
