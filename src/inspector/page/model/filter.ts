import type { Entry } from './activity-log.js'

/** Query members that filter the stream. */
export const filterNames = ['find', 'type', 'status', 'application', 'voucher'] as const

/** Values of `type` for all requests and for all deliveries; other values are an endpoint or an update type. */
const kinds: Readonly<Record<string, Entry['kind']>> = { requests: 'request', deliveries: 'delivery' }

/** Values of `status` other than a number or a code. */
export const statuses = { ok: 'Succeeded', failed: 'Failed', '4xx': '4xx', '5xx': '5xx', none: 'No response' }

/** True for a successful entry: a response below 400 without an error code, or a verified delivery. */
export const isSuccess = ({ status, code }: Entry) =>
  status !== null && status < 400 && (code === null || code === 'duplicate')

function hasStatus(entry: Entry, wanted: string): boolean {
  if (wanted === 'ok') return isSuccess(entry)
  if (wanted === 'failed') return !isSuccess(entry)
  if (wanted === 'none') return entry.status === null
  if (/^\dxx$/.test(wanted)) return Math.floor((entry.status ?? 0) / 100) === Number(wanted[0])
  return String(entry.status) === wanted || entry.code === wanted
}

/** Returns the test for entries that match the filters of a query. */
export function filterOf(query: URLSearchParams): (entry: Entry) => boolean {
  const [find = '', type, status, application, voucher] = filterNames.map(
    (name) => query.get(name)?.trim() || undefined,
  )
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  return (entry) =>
    (type === undefined || (kinds[type] ? entry.kind === kinds[type] : entry.type === type)) &&
    (status === undefined || hasStatus(entry, status)) &&
    (application === undefined || entry.owner === application) &&
    (voucher === undefined || entry.voucher === voucher) &&
    (words.length === 0 || containsAll(entry, words))
}

function containsAll({ id, type, status, code, owner, voucher, line }: Entry, words: readonly string[]): boolean {
  const path = line.kind === 'request' ? `${line.request.method} ${line.request.path}` : `${line.delivery.update_id}`
  const text = `${id} ${type} ${status} ${code} ${owner} ${voucher} ${path}`.toLowerCase()
  return words.every((it) => text.includes(it))
}
