import type { CredentialKind, Endpoint } from '../../../../contract/endpoint.js'
import type { ScriptedResponse } from '../../../../workbench/responses.js'
import type { Route } from '../../api/endpoint.js'

/** Of the server that is started for a scenario; meaningless for one that runs already. */
interface FixtureOptions {
  readonly autoApprove: boolean
  readonly requireSecure: boolean
}

/** What an answer or a delivery must look like; a member that is absent is not looked at. */
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
  /** Milliseconds that the expectation may take to come true; null: it must hold at once. */
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

/** A file of steps, checked: whatever can be known before a call is made is right. */
export interface Scenario {
  readonly file: string
  readonly name: string
  readonly server: FixtureOptions
  readonly answers: readonly [ScriptedResponse, ...ScriptedResponse[]]
  readonly vars: Readonly<Record<string, unknown>>
  readonly steps: readonly Step[]
  /** Run whatever came before, each for itself. */
  readonly teardown: readonly Step[]
}
