import { platformActivity } from '../../../contract/platform/activity.js'
import { integer, list, listOf, ofKind, text, type ValuesOf } from '../../flags/flags.js'
import type { LogEntry } from '../../output/log-line.js'

export const filterFlags = {
  status: listOf(
    '404|4xx',
    'Only requests with this status',
    (it) => /^[1-5](?:\d\d|xx)$/.test(it),
    'must be a status such as 404, or a class such as 4xx',
  ),
  endpoint: ofKind('endpoints', list('ID', 'Only requests of this endpoint, such as vouchers.redeem')),
  'request-id': text('REQUEST', 'Only the request with this id'),
  tail: integer('N', 'Only the last N lines', 0, 1_000_000),
}

type LogFilter = Pick<ValuesOf<typeof filterFlags>, 'status' | 'endpoint' | 'request-id'>

/** Requests that watch a server, such as the requests of `server logs` itself. */
const watching: readonly unknown[] = [platformActivity.requests.id, 'health.live', 'health.ready']

export const isWatching = ({ endpoint }: LogEntry) => watching.includes(endpoint)

/** Creates a test for log entries. Messages of the server match unless a filter is set. */
export function matcherOf({ status, endpoint, 'request-id': requestId }: LogFilter): (entry: LogEntry) => boolean {
  const classes = status.map((it) => new RegExp(`^${it.replace('xx', '..')}$`))
  const isFiltered = status.length > 0 || endpoint.length > 0
  return (entry) => {
    if (requestId !== undefined) return entry.request_id === requestId
    if (entry.method === undefined) return !isFiltered
    if (classes.length > 0 && !classes.some((it) => it.test(String(entry.status)))) return false
    return endpoint.length > 0 ? endpoint.some((it) => it === entry.endpoint) : !isWatching(entry)
  }
}
