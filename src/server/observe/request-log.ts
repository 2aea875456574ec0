import type { Readable } from 'node:stream'
import type { Endpoint } from '../../contract/endpoint.js'
import type { FailureCode } from '../../contract/errors.js'
import type { RequestLogEntry } from '../../contract/platform/activity.js'
import type { FaultKind } from '../../contract/platform/fault-kinds.js'
import type { Redemption, Verification, Voucher } from '../../contract/vouchers.js'
import type { IdempotencyKey } from '../../domain/idempotency.js'
import { formatInstant } from '../../domain/time.js'
import { Followers } from '../../inspector/line-stream.js'

const KEPT = 1000

interface LoggedRequest {
  readonly entry: RequestLogEntry
  readonly voucher: VoucherCall | null
}
export type LoggedVoucherCall = LoggedRequest & { readonly voucher: VoucherCall }

/** Log of recent requests, with a live stream (rules/operator.md#request-log). It holds no query, header or body. */
export class RequestLog {
  #requests: LoggedRequest[] = []
  /** True if the log no longer has all requests since the start. */
  #isCut = false
  readonly #followers = new Followers<RequestLogEntry>()

  /** @param startedAt start of the server, ms since the epoch */
  constructor(readonly startedAt: number) {}

  /** @param voucher details for the voucher's history only */
  add(entry: RequestLogEntry, voucher: VoucherCall | null = null): void {
    this.#requests.push({ entry, voucher })
    this.#isCut ||= this.#requests.length > KEPT
    if (this.#requests.length >= 2 * KEPT) this.#requests = this.#requests.slice(-KEPT)
    this.#followers.add(entry)
  }

  /** Streams the stored entries as NDJSON; if `follow`, the stream stays open for new entries. */
  stream(follow: boolean): Readable {
    const entries = this.#kept.map(({ entry }) => entry)
    return this.#followers.stream(entries, follow, (entry) => JSON.stringify(entry))
  }

  /** Discards the stored entries; followers stay. */
  clear(): void {
    this.#requests = []
    this.#isCut = true
  }

  /** Returns the time from which the log is complete: the start of the server, or the oldest stored request. */
  since(now: number): string {
    return this.#isCut ? (this.#kept[0]?.entry.time ?? formatInstant(now)) : formatInstant(this.startedAt)
  }

  /** Returns the successful calls of a voucher, oldest first. */
  ofVoucher(voucherId: string): readonly LoggedVoucherCall[] {
    return this.#kept.filter((it): it is LoggedVoucherCall => it.voucher?.voucherId === voucherId)
  }

  get #kept(): readonly LoggedRequest[] {
    return this.#requests.slice(-KEPT)
  }

  close(): void {
    this.#followers.close()
  }
}

/** Data of a completed request, plain or decrypted, for the log. */
export interface CompletedRequest {
  readonly id: string
  readonly method: string
  /** Null for an unknown path. */
  readonly route: { readonly endpoint: Pick<Endpoint, 'id' | 'path'> } | null
  readonly caller: { readonly kind: string; readonly accountId: string; readonly applicationId: string } | null
  readonly actingFor?: { readonly kind: string; readonly id: string } | null
  readonly botId: string | null
  readonly failureCode: FailureCode | null
  readonly voucher: VoucherCall | null
  readonly replayed: boolean
  readonly refusedVoucherId?: string | null
  readonly fault?: FaultKind | null
  readonly startedAt: number
}

/** The voucher of a successful call, with details for its history (rules/operator.md#voucher-history). */
export interface VoucherCall {
  readonly voucherId: string
  readonly idempotencyKey: string | null
  /** Id of the application token, or prefix of the bot token. */
  readonly calledBy: string
  readonly botId: string | null
  /** Why a verified voucher could not be redeemed. */
  readonly reason: Verification['reason']
}

/** Members by which the data of the endpoints names its voucher. */
type NamesVoucher = Pick<Voucher, 'id'> &
  Pick<Redemption, 'voucherId'> &
  Pick<Verification, 'voucher' | 'reason'> & { readonly voucher_id: string }
type VoucherIn = (data: NamesVoucher) => Pick<VoucherCall, 'voucherId'> & Partial<VoucherCall>
const ofVoucher: VoucherIn = ({ id }) => ({ voucherId: id })
const ofRedemption: VoucherIn = ({ voucherId }) => ({ voucherId })
/** Finds the voucher in the data of a success. */
const voucherIn: Readonly<Record<string, VoucherIn>> = {
  'vouchers.issue': ofVoucher,
  'bots.issue': ofVoucher,
  'vouchers.verify': ({ voucher, reason }) => ({ voucherId: voucher.id, reason }),
  'vouchers.redeem': ofRedemption,
  'vouchers.redemption': ofRedemption,
  'vouchers.reverse': ofRedemption,
  'platform.showCredentials': ({ voucher_id }) => ({ voucherId: voucher_id }),
}

/** Returns the voucher of a call; null for a call that is not about a voucher. */
export function voucherCallOf(
  endpointId: string,
  data: unknown,
  { calledBy, botId }: { readonly calledBy: string; readonly botId: string },
  idempotencyKey: IdempotencyKey | undefined,
): VoucherCall | null {
  const found = voucherIn[endpointId]?.(data as NamesVoucher)
  if (found === undefined) return null
  return { reason: null, idempotencyKey: idempotencyKey?.value ?? null, calledBy, botId: botId || null, ...found }
}

/** Converts a request that has just ended to a log entry. @param now milliseconds since 1970 */
export function entryOf(ended: CompletedRequest, status: number, now: number): RequestLogEntry {
  const { actingFor } = ended
  const { endpoint } = ended.route ?? {}
  const entry = {
    time: formatInstant(now),
    request_id: ended.id,
    endpoint: endpoint?.id ?? null,
    method: ended.method,
    path: endpoint?.path ?? null,
    status,
    code: ended.failureCode,
    application_id: ended.caller?.applicationId || (actingFor?.kind === 'token' ? actingFor.id : null),
    voucher_id: ended.voucher?.voucherId ?? ended.refusedVoucherId ?? null,
    replayed: ended.replayed,
    duration_ms: Math.round((performance.now() - ended.startedAt) * 1000) / 1000,
  }
  return {
    ...entry,
    ...(ended.caller?.kind === 'jwt' && { account_id: ended.caller.accountId }),
    ...(ended.botId !== null && { bot_id: ended.botId }),
    ...(actingFor != null && { by_operator: true }),
    ...(ended.fault != null && { fault: ended.fault }),
  }
}

/**
 * Formats a request as a log line of level info. Takes less time than pino, which matters because nearly all log lines
 * are requests, and writes `time` once. No member needs an escape: all are ids, contract names, instants and numbers.
 */
export function requestLine(entry: RequestLogEntry): string {
  const { endpoint, path, code, fault, application_id: applicationId, voucher_id: voucherId, bot_id: botId } = entry
  return (
    `{"level":30,"time":"${entry.time}","request_id":"${entry.request_id}","endpoint":${quoted(endpoint)},` +
    `"method":"${entry.method}","path":${quoted(path)},"status":${entry.status},"code":${quoted(code)},` +
    `"application_id":${quoted(applicationId)},"voucher_id":${quoted(voucherId)},"replayed":${entry.replayed},` +
    `"duration_ms":${entry.duration_ms},${botId === undefined ? '' : `"bot_id":"${botId}",`}` +
    `${entry.by_operator ? '"by_operator":true,' : ''}${fault === undefined ? '' : `"fault":"${fault}",`}"msg":"request"}\n`
  )
}

function quoted(name: string | null): string {
  return name === null ? 'null' : `"${name}"`
}
