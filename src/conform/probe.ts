import type { Need } from './group.js'
import type { ProbeContext } from './probe-context.js'
import type { Basis, Kind } from './result.js'

/** One observable statement of a rule, and how to observe it. */
export interface Probe {
  /** Anchor of the rule in contract/rules/ and name of the statement, such as `lists/limit-of-101`. */
  readonly id: `${string}/${string}`
  /** Number of the rule below its heading. */
  readonly number: number
  /** Behaviour of a platform that follows the rule, as a sentence. */
  readonly title: string
  readonly basis: Basis
  readonly kind: Kind
  readonly needs: readonly Need[]
  /** True if no request of the probe can change anything, even on a faulty server. */
  readonly reads?: true
  /** True if the encrypted transport cannot carry the request, or hides what the probe examines. */
  readonly plain?: true
  /** Number of vouchers that the probe issues, counted against the user's quota. */
  readonly vouchers?: number
  /** Milliseconds that the probe waits for an event on the platform. */
  readonly waitsMs?: number
  run(context: ProbeContext): Promise<unknown>
}

export const ruleOf = ({ id }: Pick<Probe, 'id'>): string => id.slice(0, id.indexOf('/'))

/** Options that the probes of a rule share, such as their needs. */
type ProbeOptions = Partial<Omit<Probe, 'id' | 'number' | 'title' | 'run'>>

/** Defines a probe by the number of its rule, its name, its statement as a sentence, and a function that tests it. */
export type Define = (number: number, name: string, title: string, run: Probe['run']) => Probe

/** Defines probes of decisions; `specified` and `partly` those whose statement the interface specifies. */
export interface DefineProbe extends Define {
  readonly specified: Define
  readonly partly: Define
  /** Returns a function that defines probes of the same rule with other options. */
  with(changes: ProbeOptions): DefineProbe
}

/** Returns a function that defines probes of the rules below a heading. @param anchor of the heading, in contract/rules/ */
export function probesOf(anchor: string, options: ProbeOptions = {}): DefineProbe {
  const define =
    (basis?: Basis): Define =>
    (number, name, title, run) => ({
      id: `${anchor}/${name}`,
      number,
      title,
      basis: 'decided',
      kind: 'protocol',
      needs: [],
      ...options,
      ...(basis && { basis }),
      run,
    })
  return Object.assign(define(), {
    specified: define('specified'),
    partly: define('partly_specified'),
    with: (changes: ProbeOptions) => probesOf(anchor, { ...options, ...changes }),
  })
}
