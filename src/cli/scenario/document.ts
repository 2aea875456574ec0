import type { CredentialKind, Endpoint } from '../../contract/endpoint.js'
import type { ScriptedResponse } from '../../workbench/responses.js'
import type { ApiRoute } from '../command/known-routes.js'

/** Options of the server that is started for a scenario; ignored if the scenario uses a running server. */
interface FixtureOptions {
  /** True for a scenario that uses a running server only if a flag names one, not a variable. */
  readonly own: boolean
  readonly autoApprove: boolean
  readonly requireSecure: boolean
}

/** Expected properties of a response or delivery; absent members are not checked. */
export interface StepExpectation {
  readonly status?: number
  /** Failure code with which the server must refuse the call; if absent, the call must succeed. */
  readonly code?: string
  readonly replayed?: boolean
  /** Members and values that the data must contain; the data may have other members too. */
  readonly data?: unknown
  readonly details?: unknown
  /** jq expressions that must be true for the data. */
  readonly that: readonly string[]
}

interface StepCommon {
  readonly name: string
  /** Line of the step in the scenario file, from 1. */
  readonly line: number
  readonly expect: StepExpectation
  /** jq expressions that extract values from the data, by the name of the variable to set. */
  readonly capture: Readonly<Record<string, string>>
  /** Credentials that the following steps use, as texts with variable references. */
  readonly use: Readonly<Partial<Record<CredentialKind, string>>>
  /** Milliseconds during which the step retries until its assertions pass; null allows only one attempt. */
  readonly withinMs: number | null
}

export interface CallStep extends StepCommon {
  readonly kind: 'call'
  /** Target of the call, such as `vouchers.issue` or `POST /open-platform/…`. */
  readonly target: Endpoint | RawTarget
  readonly as: CredentialKind | 'none'
  readonly with: unknown
  readonly idempotencyKey: string | null
}

/** A call by method and path; `route` is undefined if the contract does not have the route. */
export interface RawTarget {
  readonly method: string
  /** Path as written in the scenario file. */
  readonly path: string
  readonly route: ApiRoute | undefined
}

export interface ReceiveStep extends StepCommon {
  readonly kind: 'receive'
  readonly type: string
}

export interface AdvanceStep extends StepCommon {
  readonly kind: 'advance'
  readonly seconds: number
}

export type ScenarioStep = CallStep | ReceiveStep | AdvanceStep

/** A scenario file after parsing without errors. */
export interface Scenario {
  readonly file: string
  readonly name: string
  readonly server: FixtureOptions
  readonly webhookResponses: readonly [ScriptedResponse, ...ScriptedResponse[]]
  readonly vars: Readonly<Record<string, unknown>>
  readonly steps: readonly ScenarioStep[]
  /** Steps that run at the end, even after a failed step; a failure does not stop the others. */
  readonly teardown: readonly ScenarioStep[]
}
