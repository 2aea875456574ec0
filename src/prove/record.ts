import type { FaultKind } from '../contract/platform/fault-kinds.js'
import type { Voucher } from '../contract/vouchers.js'
import type { Exit } from './process.js'
import type { ProveReport } from './result.js'

/** Own id of the voucher that is issued before the action. */
export const PLANTED_ID = 'prove-1'

/** Who made a call: the action, or the app beside it. */
export type Maker = 'action' | 'app'

/** One call of the program, as the platform received it. It holds secrets, so it is never printed. */
export interface Sent {
  readonly requestId: string
  /** Contract id; null for an unknown path. */
  readonly endpoint: string | null
  /** Number among the calls of its endpoint; 0 for a call that was refused before any disturbance. */
  readonly nth: number
  readonly maker: Maker
  /** Number of the action's run in which the call began, from 0 on. */
  readonly run: number
  readonly path: string
  /** Parsed body, or undefined without one. */
  readonly body: unknown
  readonly key: string | undefined
  /** Ms since the start of the variant. */
  readonly startedAt: number
  readonly endedAt: number
  /** What the platform did. */
  readonly status: number
  readonly code: string | null
  readonly fault: FaultKind | undefined
  readonly retryAfterMs: number | undefined
  readonly replayed: boolean
  /** Data of a success. */
  readonly data: unknown
}

/** One delivery with the response of the receiver. */
export interface Delivered {
  readonly nth: number
  readonly type: string
  readonly updateId: number
  /** Ms since the start of the variant. */
  readonly at: number
  /** Null if the receiver did not respond. */
  readonly status: number | null
  readonly fault: string | undefined
  /** True for a copy of a delivery that `prove` itself sends: a stale one, or one after a restart of the app. */
  readonly isCopy: boolean
}

/** One run of the action. Twins share a number. */
export interface Run {
  readonly number: number
  readonly believesDone: boolean
  /** Such as `exit code 1`. */
  readonly ending: string
  readonly startedAt: number
  readonly endedAt: number
}

export type Ledger = readonly Pick<Voucher, 'id' | 'status' | 'redemptionId' | 'externalIssueId'>[]

/** Where a program printed a secret. */
export interface Leak {
  readonly what: string
  readonly where: string
  /** False for what is only worth a remark. */
  readonly isFinding: boolean
}

export interface Moment {
  /** Ms since the start of the variant. */
  readonly at: number
  readonly who: ProveReport['findings'][number]['timeline'][number]['who']
  readonly text: string
}

/** Everything that is known about one run of a program, disturbed or not. */
export interface Outcome {
  /** Id of the variant; `undisturbed` for a run without disturbance. */
  readonly id: string
  /** True if each planned disturbance took place. */
  readonly tookEffect: boolean
  readonly runs: readonly Run[]
  readonly calls: readonly Sent[]
  readonly deliveries: readonly Delivered[]
  /** The vouchers before the first run. */
  readonly before: Ledger
  /** Id of the voucher that another till redeemed. */
  readonly taken: string | undefined
  readonly after: Ledger
  /** Output of `--state`: null without the command. */
  readonly state: string | null
  /** True if a copy of a delivery changed the state. */
  readonly copyChanged: boolean
  /** Calls that still waited when the platform ended their wait. */
  readonly waited: readonly Sent[]
  readonly leaks: readonly Leak[]
  readonly moments: readonly Moment[]
  /** Why the variant cannot be judged. */
  readonly unjudged?: string
  /** Output of the runs and of the app; never printed after a disturbance. */
  readonly exits: readonly Exit[]
  readonly durationMs: number
}

/** Faults after which the program cannot know the outcome of its call. */
const unknownAfter = new Set(['drop_response', 'cut_connection', 'cut_body', 'silence', 'hang'])

/** True after an outcome that the program cannot know. */
export const isUnknown = (it: Sent) =>
  unknownAfter.has(it.fault ?? '') || (it.status >= 500 && it.fault !== 'refuse_connection')

/** True if the program may send the call again: its outcome is unknown, or nothing was done. */
export const mayBeRepeated = (it: Sent) => isUnknown(it) || it.fault === 'refuse_connection' || it.status === 429

/** True if a receiver responded with 2xx; null stands for no response. */
export const isAccepted = (status: number | null) => status !== null && status >= 200 && status < 300

export const believesDone = ({ runs }: Pick<Outcome, 'runs'>) => runs.some((it) => it.believesDone)
