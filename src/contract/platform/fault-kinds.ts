import type { UpdateType } from '../updates.js'

/** The target of faults of deliveries, in place of the id of an endpoint. */
export const DELIVERIES = 'deliveries'

/**
 * Kinds of faults (rules/operator.md#faults): what the server does, what happens to calls or deliveries, and the choice
 * of the page with the members that it presets. Schema, flags, types, help and the page follow from these tables.
 */
export const faultTable = {
  drop_response: ['closes the connection after the work', 'lose their response', 'Lose the response', {}],
  delay: ['waits', 'are delayed', 'Take 1 s longer', { delay_ms: 1000 }],
  error: ['responds 503', 'fail with 503', 'Fail with 503', {}],
  status: ['responds with a status', 'fail with', 'Fail with a status', { status: 429, retry_after: 1 }],
  refuse_connection: [
    'closes it before the work',
    'lose their connection before the work',
    'Refuse the connection',
    {},
  ],
  cut_connection: ['closes it after the head', 'get only the head', 'Cut the connection', {}],
  cut_body: ['closes it within the body', 'get half of the body', 'Send half of the body', {}],
  silence: ['does the work and sends nothing', 'get no response', 'Send nothing', {}],
  hang: ['does and sends nothing', 'hang without effect', 'Hang without effect', {}],
  hold: ['waits for a release', 'are held', 'Hold until released', {}],
  duplicate: ['sends it twice', 'arrive twice', 'Arrive twice', {}],
  late: ['sends it after the next one', 'arrive after the next of their chat', 'Arrive late', {}],
  lost: ['sends nothing', 'get lost', 'Get lost', {}],
  forged: ['signs it wrongly', 'have a wrong signature', 'Have a wrong signature', {}],
  stale: ['signs it as 10 minutes ago', 'have a signature of 10 minutes ago', 'Have an old signature', {}],
} as const
export type FaultKind = keyof typeof faultTable
export const faultKinds = Object.keys(faultTable) as FaultKind[]

/** Kinds whose target is `deliveries`; the others have an endpoint. */
export const deliveryFaults: readonly FaultKind[] = ['duplicate', 'late', 'lost', 'forged', 'stale']

/** Kinds whose wait `hold_ms` limits. */
export const waitingFaults: readonly FaultKind[] = ['silence', 'hang', 'hold']

/** Header of a delivery that names its planted fault. */
export const FAULT_HEADER = 'X-Platform-Fault'

/** Where a call is held. At `received`, calls with one idempotency key can meet; at the others they wait for each other. */
export const holdPlaces = {
  received: 'before the idempotency check',
  before: 'before the work',
  committed: 'after the commit',
  answered: 'after the head of the response',
} as const
export type HoldPlace = keyof typeof holdPlaces

/** Whole numbers of a fault: minimum, maximum, and what they mean. */
export const faultNumbers = {
  times: [1, 1_000_000, 'Number of calls or attempts; default 1, with a share all'],
  delay_ms: [0, 60_000, 'Milliseconds before the call, required for delay'],
  nth: [1, 1_000_000, 'First matching call that it affects: 3 is the third'],
  seed: [0, 2 ** 32 - 1, 'Repeats the random choice of a share'],
  status: [300, 599, 'HTTP status, required for status'],
  retry_after: [0, 86_400, 'With status: seconds of the header Retry-After'],
  hold_ms: [1, 3_600_000, 'Maximum ms of hold, silence, hang; default 60,000'],
} as const satisfies Record<string, readonly [number, number, string]>
export type FaultNumber = keyof typeof faultNumbers

export const FAULT_CODE = '^[A-Z][A-Z0-9_]{0,63}$'
export const FAULT_PATH = '^/[!-~]{0,255}$'

/** Kind that the headers of a delivery name. A listener gets headers of any sender: other values name none. */
export function faultOfHeaders(headers: readonly (readonly [name: string, value: string])[]): { fault?: FaultKind } {
  const [, named] = headers.find(([name]) => name.toLowerCase() === FAULT_HEADER.toLowerCase()) ?? []
  const fault = deliveryFaults.find((it) => it === named)
  return fault ? { fault } : {}
}

/** Calls by path, deliveries by bot and type, both by members of the body. */
export interface FaultMatch {
  /** Path without query; `*` stands for any characters. */
  readonly path?: string
  /** Id of a bot. */
  readonly bot?: string
  readonly type?: UpdateType
  /** Members that the body must have with these values; objects may have more members. */
  readonly body?: Readonly<Record<string, unknown>>
}

export interface NewFault {
  /** Contract id of the endpoint, such as `vouchers.redeem`; `deliveries` for the kinds of deliveries. */
  readonly endpoint: string
  /** What happens: the guide lists the kinds. */
  readonly kind: FaultKind
  /** Number of affected calls or attempts; default 1, or all with a share. */
  readonly times?: number
  /** Share of affected calls: above 0 and up to 1. Default: each call. */
  readonly share?: number
  /** Whole number by which a share chooses the same calls again; default: random. */
  readonly seed?: number
  /** First of the matching calls that is affected, counted from now. */
  readonly nth?: number
  readonly match?: FaultMatch
  /** Where `hold` holds the call; default `committed`. */
  readonly at?: HoldPlace
  /** Maximum ms of a hold, a silence or a hang; default 60,000. */
  readonly hold_ms?: number
  /** Delay in ms, up to 60,000; required for `delay`. */
  readonly delay_ms?: number
  /** HTTP status from 300 to 599; required for `status`. */
  readonly status?: number
  /** Failure code for `status`; default: the code that the failure table has for the status. */
  readonly code?: string
  /** Seconds of the header Retry-After, for `status`. */
  readonly retry_after?: number
}
