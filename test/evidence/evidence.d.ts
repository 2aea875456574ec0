import type { Evidence } from '../../src/cli/commands/reference/evidence.js'
import type { Tagged } from './proofs.js'

/** Ids of probes that observe a rule. */
export interface Probes {
  readonly rule: string
  readonly ids: readonly string[]
  readonly hasDeviant: boolean
}

export function readEvidence(probes: readonly Probes[], tagged?: readonly Tagged[]): Evidence
export function documentOf(evidence: Evidence): string
