/**
 * Kinds of faults (rules/operator.md#faults): what the server does, what happens to calls, and the choice of the page
 * with the members that it presets. Schema, flags, types, help and the page follow from these tables.
 */
export const faultTable = {
  drop_response: ['closes the connection after the work was done', 'lose their response', 'Lose the response', {}],
  delay: ['waits', 'are delayed', 'Take 1 s longer', { delay_ms: 1000 }],
  error: ['responds 503', 'fail with 503', 'Fail with 503', {}],
  status: ['responds with a status', 'fail with', 'Fail with 429', { status: 429, retry_after: 1 }],
  refuse_connection: [
    'closes it before the work',
    'lose their connection before the work',
    'Refuse the connection',
    {},
  ],
  cut_connection: ['closes it after the head of the response', 'get only the head', 'Cut the connection', {}],
  cut_body: ['closes it after half of the body', 'get half of the body', 'Send half of the body', {}],
} as const
export type FaultKind = keyof typeof faultTable
export const faultKinds = Object.keys(faultTable) as FaultKind[]

/** Whole numbers of a fault: minimum, maximum, and what they mean. */
export const faultNumbers = {
  times: [1, 1_000_000, 'Number of calls, default 1, or all with a share'],
  delay_ms: [0, 60_000, 'Milliseconds before the call, required for delay'],
  nth: [1, 1_000_000, 'First matching call that it affects: 3 is the third'],
  seed: [0, 2 ** 32 - 1, 'Repeats the random choice of a share'],
  status: [300, 599, 'HTTP status, required for status'],
  retry_after: [0, 86_400, 'With status: seconds of the header Retry-After'],
} as const satisfies Record<string, readonly [number, number, string]>
export type FaultNumber = keyof typeof faultNumbers

export const FAULT_CODE = '^[A-Z][A-Z0-9_]{0,63}$'
export const FAULT_PATH = '^/[!-~]{0,255}$'

/** Calls by path and by members of the body. */
export interface FaultMatch {
  /** Path without query; `*` stands for any characters. */
  readonly path?: string
  /** Members that the body must have with these values; objects may have more members. */
  readonly body?: Readonly<Record<string, unknown>>
}

export interface NewFault {
  /** Contract id of the endpoint, such as `vouchers.redeem`. */
  readonly endpoint: string
  /** What happens: the guide lists the kinds. */
  readonly kind: FaultKind
  /** Number of affected calls; default 1, or all with a share. */
  readonly times?: number
  /** Share of affected calls: above 0 and up to 1. Default: each call. */
  readonly share?: number
  /** Whole number by which a share chooses the same calls again; default: random. */
  readonly seed?: number
  /** First of the matching calls that is affected, counted from now. */
  readonly nth?: number
  readonly match?: FaultMatch
  /** Delay in ms, up to 60,000; required for `delay`. */
  readonly delay_ms?: number
  /** HTTP status from 300 to 599; required for `status`. */
  readonly status?: number
  /** Failure code for `status`; default: the code that the failure table has for the status. */
  readonly code?: string
  /** Seconds of the header Retry-After, for `status`. */
  readonly retry_after?: number
}
