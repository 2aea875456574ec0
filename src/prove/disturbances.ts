import { endpointOf } from '../contract/index.js'
import { DELIVERIES, type NewFault } from '../contract/platform/fault-kinds.js'

/** Longest time without a response, ms. */
export const UNANSWERED_MS = 20_000
/** A fault for every further call. */
const ALWAYS = 1_000_000

/** What the platform does to a call or delivery: faults of the server, or what the runner does at a held call. */
interface Disturbance {
  readonly of: 'call' | 'program' | 'delivery'
  /** Heading of its column. */
  readonly heading: string
  /** What happened, after the subject "the call" or "the delivery". */
  readonly words: string
  /** The fault of the server; null for what the runner does alone, undefined if the endpoint has no such disturbance. */
  fault(endpoint: string): Omit<NewFault, 'endpoint'> | null | undefined
  /** True if it may last as long as the time limit of the program. */
  readonly isSlow?: true
  /** True for one that pairs begin or end with. */
  readonly isPaired?: true
}

/** The refusals of a record that exists, or belongs to another till, by endpoint. */
const refusals: Readonly<Record<string, { readonly 404?: string; readonly 409?: string }>> = {
  'vouchers.issue': { 404: 'TEMPLATE_NOT_FOUND', 409: 'TEMPLATE_QUOTA_EXHAUSTED' },
  'bots.issue': { 404: 'TEMPLATE_NOT_FOUND', 409: 'TEMPLATE_QUOTA_EXHAUSTED' },
  'vouchers.verify': { 404: 'VOUCHER_NOT_FOUND' },
  'vouchers.redeem': { 404: 'VOUCHER_NOT_FOUND', 409: 'VOUCHER_ALREADY_REDEEMED' },
  'vouchers.redemption': { 404: 'REDEMPTION_NOT_FOUND' },
  'vouchers.reverse': { 404: 'REDEMPTION_NOT_FOUND' },
}

const call = (
  heading: string,
  words: string,
  fault: Omit<NewFault, 'endpoint'>,
  more: Pick<Disturbance, 'isSlow' | 'isPaired'> = {},
): Disturbance => ({ of: 'call', heading, words, fault: () => fault, ...more })

const refused = (status: 404 | 409, words: string): Disturbance => ({
  of: 'call',
  heading: String(status),
  words,
  fault: (endpoint) => {
    const code = refusals[endpoint]?.[status]
    return code === undefined ? undefined : { kind: 'status', status, code }
  },
})

const hold = (of: 'call' | 'program', at: 'received' | 'committed', heading: string, words: string) =>
  ({ of, heading, words, fault: () => ({ kind: 'hold', at }) }) satisfies Disturbance

const delivery = (kind: NewFault['kind'], heading: string, words: string): Disturbance => ({
  of: 'delivery',
  heading,
  words,
  fault: () => ({ kind }),
})

const alone = (of: 'program' | 'delivery', heading: string, words: string): Disturbance => ({
  of,
  heading,
  words,
  fault: () => null,
})

/** All disturbances, in the order of the columns. */
export const disturbances = {
  refuse_connection: call('refuse', 'was refused its connection', { kind: 'refuse_connection' }, { isPaired: true }),
  error: call('503', 'failed with 503 and Retry-After', { kind: 'error' }, { isPaired: true }),
  status_429: call('429', 'was refused with 429 and Retry-After', {
    kind: 'status',
    status: 429,
    code: 'RATE_LIMITED',
    retry_after: 1,
  }),
  drop_response: call(
    'drop',
    'was carried out, and its response was lost',
    { kind: 'drop_response' },
    { isPaired: true },
  ),
  cut_body: call('cut', 'was carried out, and half of its response was lost', { kind: 'cut_body' }),
  revoked: call('revoked', 'and all later ones were refused as if the token had been revoked', {
    kind: 'status',
    status: 401,
    code: 'TOKEN_REVOKED',
    times: ALWAYS,
  }),
  refused_404: refused(404, 'was refused with 404'),
  refused_409: refused(409, 'was refused with 409, as if another one had come first'),
  taken: {
    ...hold('call', 'received', 'taken', 'came after another till had redeemed the voucher'),
    fault: (endpoint) => (endpoint === 'vouchers.redeem' ? { kind: 'hold', at: 'received' } : undefined),
  },
  silence: call(
    'silence',
    'was carried out, and got no response',
    { kind: 'silence', hold_ms: UNANSWERED_MS },
    { isSlow: true },
  ),
  hang: call(
    'hang',
    'was not carried out, and got no response',
    { kind: 'hang', hold_ms: UNANSWERED_MS },
    { isSlow: true },
  ),
  kill_committed: {
    ...hold('program', 'committed', 'kill', 'was carried out, and its program was killed before the response'),
    isPaired: true,
  },
  kill_answered: hold('program', 'committed', 'kill after', 'was answered, and its program was killed'),
  twins: hold('program', 'received', 'twins', 'was made by two programs at once'),
  duplicate: delivery('duplicate', 'twice', 'arrived twice'),
  late: delivery('late', 'late', 'arrived after the next one'),
  lost: delivery('lost', 'lost', 'was lost, and sent again'),
  forged: delivery('forged', 'forged', 'had a wrong signature'),
  stale: alone('delivery', 'stale', 'arrived once more, signed 10 minutes ago'),
  kill: alone('delivery', 'kill', 'was accepted, and the app was killed'),
} as const satisfies Record<string, Disturbance>
export type DisturbanceName = keyof typeof disturbances

export const disturbanceOf = (name: DisturbanceName): Disturbance => disturbances[name]

/** One disturbance of one call or delivery; `endpoint` is `deliveries` for a delivery. */
export interface Strike {
  readonly endpoint: string
  /** Number of the call among those of its endpoint, from 1 on. */
  readonly nth: number
  readonly kind: DisturbanceName
}

/** A run of the program with one disturbance, or with two. */
export interface Variant {
  readonly id: string
  readonly strikes: readonly Strike[]
}

export const subjectOf = ({ endpoint, nth }: Pick<Strike, 'endpoint' | 'nth'>) => `${endpoint}#${nth}`
export const variantOf = (...strikes: readonly Strike[]): Variant => ({
  id: strikes.map((it) => `${subjectOf(it)}/${it.kind}`).join('+'),
  strikes,
})

/** True for a variant that may last as long as the time limit of the program. */
export const isSlow = ({ strikes }: Variant) => strikes.some(({ kind }) => disturbanceOf(kind).isSlow)

/** Reads the id of a variant; undefined for one that names no disturbance. */
export function variantIn(id: string): Variant | undefined {
  const strikes = id.split('+').map((part) => {
    const [, endpoint = '', nth, kind = ''] = /^([\w.]+)#([1-9]\d{0,5})\/(\w+)$/.exec(part) ?? []
    return Object.hasOwn(disturbances, kind) ? { endpoint, nth: Number(nth), kind: kind as DisturbanceName } : undefined
  })
  return strikes.every((it) => it !== undefined) ? { id, strikes } : undefined
}

type Numbered = Pick<Strike, 'endpoint' | 'nth'>

const namesOf = (of: Disturbance['of'][]) =>
  (Object.keys(disturbances) as DisturbanceName[]).filter((it) => of.includes(disturbances[it].of))

/**
 * Lists the variants of a recorded run in the order in which a budget spends: all disturbances of the first delivery of each
 * type and of the first call of each endpoint, then of the last calls, then of the rest. The slow ones of a step come last.
 * @param deliveries types of the deliveries
 * @param kills what can be killed: programs that made a call, and the app after a delivery
 */
export function variantsOf(
  calls: readonly Numbered[],
  deliveries: readonly string[],
  kills: { readonly programs: boolean; readonly app: boolean },
): Variant[] {
  const lasts = new Map(calls.map(({ endpoint, nth }) => [endpoint, nth]))
  // Calls that write come first: they cost money.
  const first = calls.filter((it) => it.nth === 1).sort((a, b) => Number(writes(b)) - Number(writes(a)))
  const last = calls.filter((it) => it.nth > 1 && lasts.get(it.endpoint) === it.nth)
  const rest = calls.filter((it) => it.nth > 1 && lasts.get(it.endpoint) !== it.nth)
  const ofCalls = (some: readonly Numbered[], slow: boolean) =>
    some.flatMap(({ endpoint, nth }) =>
      namesOf(['call', 'program'])
        .filter((kind) => kills.programs || !isKill(kind))
        .filter(
          (kind) => (disturbanceOf(kind).isSlow ?? false) === slow && disturbanceOf(kind).fault(endpoint) !== undefined,
        )
        .map((kind) => variantOf({ endpoint, nth, kind })),
    )
  const kinds = namesOf(['delivery']).filter((it) => it !== 'kill' || kills.app)
  const ofDeliveries = (isFirst: boolean) =>
    deliveries.flatMap((type, at) =>
      (deliveries.indexOf(type) === at) === isFirst
        ? kinds.map((kind) => variantOf({ endpoint: DELIVERIES, nth: at + 1, kind }))
        : [],
    )
  const steps = [first, last, rest].flatMap((some) => [...ofCalls(some, false), ...ofCalls(some, true)])
  return [...ofDeliveries(true), ...steps, ...ofDeliveries(false)]
}

/**
 * Lists the pairs that begin with a variant of one disturbance: a second one of each later call of its run.
 * @param canKill false if the programs are functions
 */
export function pairsOf({ strikes }: Variant, later: readonly Numbered[], canKill: boolean): Variant[] {
  const [first] = strikes
  if (first === undefined || strikes.length > 1 || !disturbanceOf(first.kind).isPaired) return []
  const kinds = namesOf(['call', 'program']).filter((it) => disturbanceOf(it).isPaired && (canKill || !isKill(it)))
  return later.flatMap(({ endpoint, nth }) => kinds.map((kind) => variantOf(first, { endpoint, nth, kind })))
}

export const isKill = (kind: DisturbanceName) => kind.startsWith('kill')

const writes = ({ endpoint }: Numbered) => endpointOf(endpoint)?.idempotent !== undefined

/** True for an endpoint whose calls can be disturbed. */
export const canBeDisturbed = (endpoint: string | null): endpoint is string =>
  endpoint !== null && endpointOf(endpoint) !== undefined && endpointOf(endpoint)?.caller !== 'operator'
