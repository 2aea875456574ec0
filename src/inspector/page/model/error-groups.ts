import type { Overview } from '../../../contract/platform/overview.js'
import type { Entry } from './activity-log.js'
import { isSuccess } from './filter.js'

/** Failed calls or attempts with the same code and status. */
export type ErrorGroup = ReturnType<typeof errorGroups>[number]

/** Groups what failed, the most frequent first, each with the entries that the page still has, newest first. */
export function errorGroups({ failed_calls, failed_attempts }: Overview, entries: readonly Entry[]) {
  // The server stores no attempt for a replay.
  const failed = entries.filter((it) => !isSuccess(it) && !(it.kind === 'delivery' && it.replayed)).reverse()
  const groupsOf = (kind: Entry['kind'], { items, since }: Pick<Overview['failed_calls'], 'items' | 'since'>) =>
    items.map(({ code, status, count }) => ({
      kind,
      name: code === 'http_status' ? `${code} ${status}` : (code ?? String(status)),
      status,
      count,
      entries: failed.filter((it) => it.kind === kind && it.code === code && it.status === status && it.at >= since),
    }))
  const groups = [...groupsOf('request', failed_calls), ...groupsOf('delivery', failed_attempts)]
  return groups.sort((one, other) => other.count - one.count)
}
