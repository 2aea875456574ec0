import type { Need } from './group.js'
import type { ProbeContext } from './probe-context.js'
import type { Basis, Kind } from './result.js'

/** One observable statement of a rule, and how to observe it. */
export interface Probe {
  /** Anchor of the rule in contract/rules/ and name of the statement, such as `lists/limit-of-101`. */
  readonly id: `${string}/${string}`
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

/** Anchor of the rule that a probe tests. */
export const ruleOf = ({ id }: Pick<Probe, 'id'>): string => id.slice(0, id.indexOf('/'))

/** Options that the probes of a rule share, such as their needs. */
type ProbeOptions = Partial<Omit<Probe, 'id' | 'title' | 'basis' | 'run'>>

interface RuleOptions extends ProbeOptions {
  /** Names of the probes whose statement the interface specifies, in whole or in part; others test decisions. */
  readonly specified?: readonly string[]
  readonly partly?: readonly string[]
}

/** Defines a probe by its name, its statement as a sentence, and a function that tests the statement. */
export interface DefineProbe {
  (name: string, title: string, run: Probe['run']): Probe
  /** Returns a function that defines probes of the same rule with other options. */
  with(changes: ProbeOptions): DefineProbe
}

/** Returns a function that defines probes of one rule. @param rule its anchor in contract/rules/ */
export function probesOf(rule: string, options: RuleOptions = {}): DefineProbe {
  const { specified = [], partly = [], ...members } = options
  const basisOf = (name: string): Basis =>
    specified.includes(name) ? 'specified' : partly.includes(name) ? 'partly_specified' : 'decided'
  const define = (name: string, title: string, run: Probe['run']): Probe => ({
    id: `${rule}/${name}`,
    title,
    basis: basisOf(name),
    kind: 'protocol',
    needs: [],
    ...members,
    run,
  })
  return Object.assign(define, { with: (changes: ProbeOptions) => probesOf(rule, { ...options, ...changes }) })
}
