import type { CredentialKind, Endpoint } from '../../../../contract/endpoint.js'
import type { ScriptedResponse } from '../../../../workbench/responses.js'
import type { Route } from '../../api/endpoint.js'

/** Options of the server that is started for a scenario; ignored for a running one. */
interface FixtureOptions {
  readonly autoApprove: boolean
  readonly requireSecure: boolean
}

/** What a response or a delivery must contain; an absent member is not checked. */
export interface Expected {
  readonly status?: number
  /** Of the refusal that the step is about; absent: the call must succeed. */
  readonly code?: string
  readonly replayed?: boolean
  /** Members that must be there with these values; others may be there too. */
  readonly data?: unknown
  readonly details?: unknown
  /** jq expressions on the data, each of which must be true. */
  readonly that: readonly string[]
}

interface StepCommon {
  readonly name: string
  /** From 1. */
  readonly line: number
  readonly expect: Expected
  /** jq expressions on the data, by the name of the variable that takes their result. */
  readonly capture: Readonly<Record<string, string>>
  /** Credentials of the steps that follow, as templates. */
  readonly use: Readonly<Partial<Record<CredentialKind, string>>>
  /** Milliseconds in which the expectation must become true; null: with the first response. */
  readonly withinMs: number | null
}

export interface CallStep extends StepCommon {
  readonly kind: 'call'
  /** `vouchers.issue`, or `POST /open-platform/…`. */
  readonly target: Endpoint | RawTarget
  readonly as: CredentialKind | 'none'
  readonly with: unknown
  readonly idempotencyKey: string | null
}

/** A call by method and path; the route is absent where the contract has none. */
export interface RawTarget {
  readonly method: string
  /** As it was written. */
  readonly path: string
  readonly route: Route | undefined
}

export interface ReceiveStep extends StepCommon {
  readonly kind: 'receive'
  readonly type: string
}

export interface AdvanceStep extends StepCommon {
  readonly kind: 'advance'
  readonly seconds: number
}

export type Step = CallStep | ReceiveStep | AdvanceStep

/** A file of steps that passed every check that needs no call. */
export interface Scenario {
  readonly file: string
  readonly name: string
  readonly server: FixtureOptions
  readonly answers: readonly [ScriptedResponse, ...ScriptedResponse[]]
  readonly vars: Readonly<Record<string, unknown>>
  readonly steps: readonly Step[]
  /** Run whatever happened before, each on its own. */
  readonly teardown: readonly Step[]
}
