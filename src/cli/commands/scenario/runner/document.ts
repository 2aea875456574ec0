import type { CredentialKind, Endpoint } from '../../../../contract/endpoint.js'
import type { ScriptedResponse } from '../../../../workbench/responses.js'
import type { ApiRoute } from '../../api/endpoint.js'

/** Options of the server that is started for a scenario; ignored for a running one. */
interface FixtureOptions {
  readonly autoApprove: boolean
  readonly requireSecure: boolean
}

/** Requirements for a response or delivery; absent members are not checked. */
export interface StepExpectation {
  readonly status?: number
  /** Code of the expected refusal; without it the call must succeed. */
  readonly code?: string
  readonly replayed?: boolean
  /** Required members and values; the data may have other members. */
  readonly data?: unknown
  readonly details?: unknown
  /** jq expressions on the data, each of which must be true. */
  readonly that: readonly string[]
}

interface StepCommon {
  readonly name: string
  /** Line number, from 1. */
  readonly line: number
  readonly expect: StepExpectation
  /** jq expressions on the data by the name of the variable for the result. */
  readonly capture: Readonly<Record<string, string>>
  /** Credentials for the following steps, as templates. */
  readonly use: Readonly<Partial<Record<CredentialKind, string>>>
  /** Milliseconds in which the expectation must become true; null means in the first response. */
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

/** A call by method and path; `route` is undefined if the contract does not know it. */
export interface RawTarget {
  readonly method: string
  /** The path from the file. */
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

/** A parsed scenario file without errors. */
export interface Scenario {
  readonly file: string
  readonly name: string
  readonly server: FixtureOptions
  readonly answers: readonly [ScriptedResponse, ...ScriptedResponse[]]
  readonly vars: Readonly<Record<string, unknown>>
  readonly steps: readonly ScenarioStep[]
  /** Steps that run after success and failure, even if one of them fails. */
  readonly teardown: readonly ScenarioStep[]
}
