import { endpointOf } from '../contract/index.js'
import { DELIVERIES, type NewFault } from '../contract/platform/fault-kinds.js'

/** Longest time without a response, ms. */
export const UNANSWERED_MS = 20_000
/** A fault for every further call. */
const ALWAYS = 1_000_000

type PlantedFault = Omit<NewFault, 'endpoint'>

/** What happens to a call or delivery. */
interface Disturbance {
  readonly of: 'call' | 'program' | 'delivery'
  /** The fault of the server; absent for what the runner does alone. */
  readonly fault?: PlantedFault
  /** Codes of the fault by endpoint: only these have the disturbance. */
  readonly codes?: Readonly<Record<string, string>>
  /** True if it may last as long as the time limit of the program. */
  readonly isSlow?: true
  /** True for one that pairs begin or end with. */
  readonly isPaired?: true
}

const hold = (at: 'received' | 'committed') => ({ kind: 'hold', at }) as const

const missing = {
  'vouchers.issue': 'TEMPLATE_NOT_FOUND',
  'bots.issue': 'TEMPLATE_NOT_FOUND',
  'vouchers.verify': 'VOUCHER_NOT_FOUND',
  'vouchers.redeem': 'VOUCHER_NOT_FOUND',
  'vouchers.redemption': 'REDEMPTION_NOT_FOUND',
  'vouchers.reverse': 'REDEMPTION_NOT_FOUND',
}
/** A redemption that another till made, or a quota that is used up. */
const conflicting = {
  'vouchers.issue': 'TEMPLATE_QUOTA_EXHAUSTED',
  'bots.issue': 'TEMPLATE_QUOTA_EXHAUSTED',
  'vouchers.redeem': 'VOUCHER_ALREADY_REDEEMED',
}

/** All disturbances, in the order of the columns. */
export const disturbances = {
  refuse_connection: { of: 'call', fault: { kind: 'refuse_connection' }, isPaired: true },
  error: { of: 'call', fault: { kind: 'error' }, isPaired: true },
  status_429: { of: 'call', fault: { kind: 'status', status: 429, code: 'RATE_LIMITED', retry_after: 1 } },
  drop_response: { of: 'call', fault: { kind: 'drop_response' }, isPaired: true },
  cut_body: { of: 'call', fault: { kind: 'cut_body' } },
  revoked: { of: 'call', fault: { kind: 'status', status: 401, code: 'TOKEN_REVOKED', times: ALWAYS } },
  refused_404: { of: 'call', fault: { kind: 'status', status: 404 }, codes: missing },
  refused_409: { of: 'call', fault: { kind: 'status', status: 409 }, codes: conflicting },
  // Another till redeems the voucher while the call is held.
  taken: { of: 'call', fault: hold('received'), codes: { 'vouchers.redeem': '' } },
  hang: { of: 'call', fault: { kind: 'hang', hold_ms: UNANSWERED_MS }, isSlow: true },
  silence: { of: 'call', fault: { kind: 'silence', hold_ms: UNANSWERED_MS }, isSlow: true },
  kill_committed: { of: 'program', fault: hold('committed'), isPaired: true },
  kill_answered: { of: 'program', fault: hold('committed') },
  twins: { of: 'program', fault: hold('received') },
  duplicate: { of: 'delivery', fault: { kind: 'duplicate' } },
  late: { of: 'delivery', fault: { kind: 'late' } },
  lost: { of: 'delivery', fault: { kind: 'lost' } },
  forged: { of: 'delivery', fault: { kind: 'forged' } },
  stale: { of: 'delivery' },
  kill: { of: 'delivery' },
} as const satisfies Record<string, Disturbance>
export type DisturbanceName = keyof typeof disturbances

export const disturbanceOf = (name: DisturbanceName): Disturbance => disturbances[name]

/** The fault of a disturbance; undefined if the server has none for it. */
export function faultOf({ endpoint, kind }: Pick<Strike, 'endpoint' | 'kind'>): PlantedFault | undefined {
  const { fault, codes } = disturbanceOf(kind)
  const code = codes?.[endpoint]
  return fault && code ? { ...fault, code } : fault
}

/** True if an endpoint has a disturbance. */
const has = (endpoint: string, kind: DisturbanceName) => {
  const { codes } = disturbanceOf(kind)
  return codes === undefined || Object.hasOwn(codes, endpoint)
}

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
        .filter((kind) => (disturbanceOf(kind).isSlow ?? false) === slow && has(endpoint, kind))
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
