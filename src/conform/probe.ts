import type { Need } from './group.js'
import type { ProbeContext } from './probe-context.js'
import type { Basis } from './result.js'

/** One observable statement of a rule, and how to observe it. */
export interface Probe {
  /** Anchor of the rule in RULES.md, and the name of the statement: `lists/limit-of-101`. */
  readonly id: `${string}/${string}`
  /** What a platform that follows the rule does, as a sentence. */
  readonly title: string
  readonly basis: Basis
  readonly needs: readonly Need[]
  /** Set if the probe sends nothing that could change something, whatever the server does with it. */
  readonly reads?: true
  /** Set if the encrypted transport cannot carry the request, or what the probe looks at in the response. */
  readonly plain?: true
  /** Vouchers that the probe issues, counted against the quota that the user grants. */
  readonly vouchers?: number
  /** Milliseconds that the probe waits for the platform. */
  readonly waitsMs?: number
  run(context: ProbeContext): Promise<unknown>
}

/** Anchor of a probe's rule. */
export const ruleOf = ({ id }: Pick<Probe, 'id'>): string => id.slice(0, id.indexOf('/'))

/** What the probes of a rule need, and other members that they share. */
type ProbeOptions = Partial<Omit<Probe, 'id' | 'title' | 'basis' | 'run'>>

interface RuleOptions extends ProbeOptions {
  /** Names of the probes of what the interface specifies, in whole or in part; all others observe decisions. */
  readonly specified?: readonly string[]
  readonly partly?: readonly string[]
}

/** Defines a probe: its name, the statement as a sentence, and a function that observes it. */
export interface DefineProbe {
  (name: string, title: string, run: Probe['run']): Probe
  /** Returns a function that defines probes of the same rule with other options. */
  with(changes: ProbeOptions): DefineProbe
}

/** Returns a function that defines probes of one rule. @param rule its anchor in RULES.md */
export function probesOf(rule: string, options: RuleOptions = {}): DefineProbe {
  const { specified = [], partly = [], ...members } = options
  const basisOf = (name: string): Basis =>
    specified.includes(name) ? 'specified' : partly.includes(name) ? 'partly_specified' : 'decided'
  const define = (name: string, title: string, run: Probe['run']): Probe => ({
    id: `${rule}/${name}`,
    title,
    basis: basisOf(name),
    needs: [],
    ...members,
    run,
  })
  return Object.assign(define, { with: (changes: ProbeOptions) => probesOf(rule, { ...options, ...changes }) })
}
