/** Parts of a fault (RULES.md#faults); schema, flags, types, help and the page follow from these tables. */
interface KindRow {
  /** What the server does, for help. */
  readonly does: string
  /** What happens to calls, such as `lose their response`. */
  readonly effect: string
  /** Switch of the page, and the members that it sets. */
  readonly label: string
  readonly preset?: Partial<Pick<NewFault, 'delay_ms' | 'status' | 'retry_after'>>
}

const rows = {
  drop_response: {
    does: 'closes the connection after the work was done',
    effect: 'lose their response',
    label: 'Lose the response',
  },
  delay: { does: 'waits', effect: 'are delayed', label: 'Take 1 s longer', preset: { delay_ms: 1000 } },
  error: { does: 'responds 503', effect: 'fail with 503', label: 'Fail with 503' },
  status: {
    does: 'responds with a status, code and Retry-After',
    effect: 'fail with',
    label: 'Fail with 429',
    preset: { status: 429, retry_after: 1 },
  },
  refuse_connection: {
    does: 'closes the connection before the work',
    effect: 'lose their connection before any work',
    label: 'Refuse the connection',
  },
  cut_connection: {
    does: 'closes it after the head of the response',
    effect: 'lose their connection after the head of the response',
    label: 'Cut the connection',
  },
  cut_body: {
    does: 'closes it after half of the body',
    effect: 'get half of the body',
    label: 'Send half of the body',
  },
} as const satisfies Record<string, KindRow>

export type FaultKind = keyof typeof rows
export const faultTable: Readonly<Record<FaultKind, KindRow>> = rows
export const faultKinds = Object.keys(rows) as FaultKind[]

/** Whole numbers of a fault: minimum, maximum, and what they mean. */
export const faultNumbers = {
  times: [1, 1_000_000, 'Number of calls that it affects, default 1, or all with a share'],
  delay_ms: [0, 60_000, 'Milliseconds before the call, required for delay'],
  nth: [1, 1_000_000, 'First of the matching calls that it affects: 3 is the third from now'],
  seed: [0, 2 ** 32 - 1, 'With a share: the same seed chooses the same calls again'],
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
  /** The same as `share`. */
  readonly rate?: number
  /** Whole number by which a share chooses the same calls again; default: random. */
  readonly seed?: number
  /** First of the matching calls that is affected, counted from now. */
  readonly nth?: number
  readonly match?: FaultMatch
  /** Delay in ms, up to 60,000; required for `delay`. */
  readonly delay_ms?: number
  /** HTTP status from 300 to 599; required for `status`. */
  readonly status?: number
  /** Failure code for `status`; default: that of the failure table for the status. */
  readonly code?: string
  /** Seconds of the header Retry-After, for `status`. */
  readonly retry_after?: number
}

interface FaultIssue {
  readonly member: keyof NewFault
  readonly code: 'required' | 'conflict'
  readonly message: string
}

/** Checks the members of a fault against each other; each is valid alone. */
export function faultIssue(fault: NewFault): FaultIssue | undefined {
  const { kind, times, share, rate, seed, nth, match } = fault
  const conflict = (member: keyof NewFault, message: string) => ({ member, code: 'conflict', message }) as const
  const required = (member: keyof NewFault, message: string) => ({ member, code: 'required', message }) as const
  const chosen = share ?? rate
  if (share !== undefined && rate !== undefined) return conflict('rate', 'is the same as share: name one of them')
  if (nth !== undefined && chosen !== undefined) return conflict('nth', 'cannot be combined with a share')
  if (seed !== undefined && chosen === undefined) return conflict('seed', 'is allowed only with a share')
  if (times === undefined && chosen === undefined && nth === undefined)
    return required('times', 'is required without a rate')
  if (kind === 'delay' && fault.delay_ms === undefined) return required('delay_ms', 'is required for a delay')
  if (kind === 'status' && fault.status === undefined) return required('status', 'is required for the kind status')
  const extra = (['status', 'code', 'retry_after'] as const).find((it) => kind !== 'status' && fault[it] !== undefined)
  if (extra !== undefined) return conflict(extra, 'is allowed only for the kind status')
  if (match && match.path === undefined && Object.keys(match.body ?? {}).length === 0)
    return required('match', 'needs a path or members of the body')
  return undefined
}
