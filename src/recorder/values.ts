import { ID, isMembers, type Members } from './events.js'

/** jq expression of a place in data; a credential is selected by its type. */
export function jqOf(path: readonly (string | number)[], data?: unknown): string {
  const [list, at] = path
  if (list === 'credentials' && typeof at === 'number' && isMembers(data)) {
    const { type } = (data.credentials as readonly Members[])[at] ?? {}
    return `.credentials[] | select(.type == "${type}").value`
  }
  return path
    .map((it) => (typeof it === 'number' ? `[${it}]` : `.${it}`))
    .join('')
    .replace(/^\[/, '.[')
}

export function durationOf(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
  ] as const
  const unit = units.find(([, length]) => seconds % length === 0)
  if (unit !== undefined) return `${seconds / unit[1]}${unit[0]}`
  return Number.isInteger(seconds) ? `${seconds}s` : `${Math.round(seconds * 1000)}ms`
}

/** Members that differ in each run: times, durations and ids. */
const varying = /(?:_ms|_at|At|_id|Id|^id|date|time|now)$/

/** Members of the last response of a poll that earlier ones did not have; undefined if nothing changed. */
export function changes(before: unknown, after: unknown): unknown {
  if (Array.isArray(after)) {
    const items = after.map((it, at) => changes(Array.isArray(before) ? before[at] : undefined, it))
    const sameLength = Array.isArray(before) && before.length === after.length
    return sameLength && items.every((it) => it === undefined) ? undefined : items.map((it) => it ?? {})
  }
  if (isMembers(after)) {
    const found = Object.entries(after).flatMap(([name, it]) => {
      const changed = varying.test(name) ? undefined : changes(isMembers(before) ? before[name] : undefined, it)
      return changed === undefined ? [] : [[name, changed]]
    })
    return found.length === 0 ? undefined : Object.fromEntries(found)
  }
  const isPlain =
    typeof after !== 'string' || !(ID.test(after) || after.includes('[hidden') || /^\d{4}-\d\d-/.test(after))
  return isPlain && after !== before && after !== null ? after : undefined
}

export const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
