import type { Group } from './group.js'

/**
 * `differs`: the platform does not follow the rule. `not_applicable`: a need of the probe is missing. `not_reachable`:
 * no response, or one that says nothing about the rule, such as 503. `not_usable`: what the user offered cannot be used,
 * such as a template without vouchers. `failed`: an error of the probe itself, which says nothing about the platform.
 */
export type Verdict = 'holds' | 'differs' | 'not_applicable' | 'not_reachable' | 'not_usable' | 'failed'

/**
 * Source of a statement: the interface specification, or a decision of the reference where the specification is silent.
 * Partly: both, such as a specified refusal with an unspecified status.
 */
export type Basis = 'specified' | 'partly_specified' | 'decided'

/** What a difference can harm, in the order of a report. `wording`: a refusal has the right status and another code. */
export const kinds = ['money', 'tenant', 'credential', 'protocol', 'wording'] as const
export type Kind = (typeof kinds)[number]

/** Result of a probe. All texts have placeholders such as `${VOUCHERCTL_TOKEN}` in place of secrets. */
export interface ProbeResult {
  /** Rule and name of the probe, such as `lists/limit-of-101`. */
  readonly probe: string
  readonly group: Group
  /** Anchor of the rule in src/contract/rules/. */
  readonly rule: string
  /** Behaviour of a platform that follows the rule. */
  readonly title: string
  /** Basis of the statement: the interface, or a decision of the reference. A difference has one of the two. */
  readonly basis: Basis
  readonly kind: Kind
  readonly result: Verdict
  /** Why the probe has neither held nor differed. */
  readonly reason: string | null
  /** The call of a difference, such as `POST /api/v1/…`, if the platform does not have its path. */
  readonly missing_path: string | null
  readonly expected: string | null
  readonly observed: string | null
  /** The last request before the difference, as a curl command. */
  readonly request: string | null
  /** Variables of the request that only the run could fill in, with the ids of the records that have these secrets. */
  readonly variables: Readonly<Record<string, string>>
  readonly duration_ms: number
}

/** An object that the run created on the platform and could not remove. */
export interface Leftover {
  readonly kind: string
  readonly id: string
  /** Why the object is still there. */
  readonly reason: string
}

/** Ends a probe: a need is missing. */
export class NotApplicable extends Error {}

/** Ends a probe: the platform did not respond, or responded that it is unavailable or permits no further call. */
export class NotReachable extends Error {}

/** Ends a run before its first probe: the platform refuses a credential. */
export class CredentialRefused extends Error {}

/** Ends a probe: what the user offered cannot be used, which says nothing about the platform. */
export class NotUsable extends Error {}
