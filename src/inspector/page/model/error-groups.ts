import type { Entry } from './activity-log.js'
import { isSuccess } from './filter.js'

/** Failed calls and deliveries with the same code, newest first. */
export type ErrorGroup = ReturnType<typeof errorGroups>[number]

/** Groups what failed since an instant, the most frequent code first. @param since in ms */
export function errorGroups(entries: readonly Entry[], since: number) {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries.toReversed()) {
    if (isSuccess(entry) || Date.parse(entry.at) < since) continue
    const code = entry.code ?? String(entry.status ?? 'no response')
    const key = code === 'http_status' ? `${code} ${entry.status}` : code
    groups.set(key, [...(groups.get(key) ?? []), entry])
  }
  return [...groups]
    .map(([code, found]) => ({ code, status: found[0]?.status ?? null, count: found.length, entries: found }))
    .sort((one, other) => other.count - one.count)
}
