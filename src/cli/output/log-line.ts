import { parseBody } from '../../client/response.js'
import { asMembers } from '../../values/json.js'
import type { Screen } from './screen.js'
import { isInstant, plainLine, plainMember, withTimes } from './text.js'

/** A line of the server's log: a request, or a message of the server. */
export type LogEntry = Readonly<Record<string, unknown>>

export const readEntry = (line: string): LogEntry => asMembers(parseBody(line)) ?? { msg: line }

const METHOD_WIDTH = 6
const DURATION_WIDTH = 9
const YEAR = '2026-'
const WARNING = 40
const ERROR = 50

/** Formats a log entry on one line for a person; a width cuts the beginning of a path that is too long. */
export function logLine(entry: LogEntry, screen: Screen): string {
  const { paint, width = Number.POSITIVE_INFINITY } = screen
  const { time, method, path, status, code, duration_ms, replayed, by_operator, fault } = entry
  if (method === undefined) return messageLine(entry, screen)
  const state = String(status)
  const took = typeof duration_ms === 'number' ? `${duration_ms.toFixed(1)} ms` : ''
  const at = shownTime(time, screen)
  const head = [at, state, plainLine(String(method)).padEnd(METHOD_WIDTH), took.padStart(DURATION_WIDTH)]
  const known = [
    code,
    replayed === true ? 'replayed' : null,
    by_operator === true ? 'by the operator' : null,
    typeof fault === 'string' ? `fault ${fault}` : null,
  ]
  const marks = known.filter((it) => typeof it === 'string').map(plainLine)
  const place = typeof path === 'string' ? plainLine(path) : '-'
  const room = Math.max(1, width - [...head, ...marks].join(' ').length - 1)
  const shownPath = place.length > room ? `…${place.slice(place.length - room + 1)}` : place
  const colour = state >= '5' ? paint.error : state >= '4' ? paint.status : paint.done
  const [, , verb = '', duration = ''] = head
  const parts = [paint.quiet(at), colour(state), verb, paint.quiet(duration), shownPath, ...marks.map(colour)]
  return parts.filter((it) => it !== '').join(' ')
}

/** Formats a message of the server, with the first line of an error. */
function messageLine(entry: LogEntry, screen: Screen): string {
  const { paint } = screen
  const { time, level, msg = JSON.stringify(entry), err } = entry
  const error = typeof err === 'object' && err !== null && 'message' in err ? String(err.message) : undefined
  const text = [msg, error].flatMap((it) => (it === undefined ? [] : plainMember(it))).join(': ')
  const shown = Number(level) >= ERROR ? paint.error(text) : Number(level) >= WARNING ? paint.status(text) : text
  return [time === undefined ? '' : paint.quiet(shownTime(time, screen)), shown].filter((it) => it !== '').join(' ')
}

/** Formats the time of an entry; on a terminal without the year. */
export function shownTime(time: unknown, { width, zone }: Screen): string {
  const text = plainMember(time)
  return isInstant(text) ? withTimes(text, zone).slice(width === undefined ? 0 : YEAR.length) : text
}
