import type { Zone } from '../host/host.js'
import type { Paint } from './colour.js'
import type { Screen, Times } from './screen.js'
import { valueAt } from './select-fields.js'

/** Matches escape sequences of terminals (ECMA-48), 7-bit and 8-bit. */
const SEQUENCES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g

/** Matches other control characters, bidi controls and line separators, but not tab and LF. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Makes text from a server safe to print on a terminal. */
export function plain(text: string): string {
  return text.replace(SEQUENCES, '').replace(CONTROLS, '')
}

/** Makes text safe to print on one line of a terminal. */
export function plainLine(text: string): string {
  return plain(text).replace(/[\t\n]+/g, ' ')
}

/** Makes an unvalidated text or number safe to print on one line. @throws TypeError for any other value */
export function plainMember(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('a member has another type')
  return plainLine(String(value))
}

/** Matches an instant in UTC as JSON writes it. */
const INSTANT = /\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z(?![\w-])/

const wholeInstant = new RegExp(`^${INSTANT.source}$`)

export const isInstant = (value: unknown): value is string => typeof value === 'string' && wholeInstant.test(value)

const EVERY_INSTANT_OR_COMMAND = new RegExp(`\`[^\`]*\`|${INSTANT.source}`, 'g')

/**
 * Formats the instants in a text for a person (rules/cli.md#tables): `2026-11-21 18:00:05+08:00`, or with Z in UTC.
 * Those in a suggested command stay as they are, so that it can be copied.
 */
export const withTimes = (text: string, zone: Zone) =>
  text.replaceAll(EVERY_INSTANT_OR_COMMAND, (found, day?: string, clock?: string) =>
    day === undefined ? found : shownInstant(`${day}T${clock}Z`, zone),
  )

function shownInstant(instant: string, zone: Zone): string {
  const ms = Date.parse(instant)
  const offset = Number.isNaN(ms) ? 0 : zone(ms)
  const local = offset === 0 ? '' : new Date(ms + offset * 60_000).toISOString()
  // At the ends of the calendar the local year has no four digits.
  if (!/^\d{4}-/.test(local)) return instant.replace('T', ' ')
  const distance = new Date(Math.abs(offset) * 60_000).toISOString().slice(11, 16)
  return `${local.slice(0, 10)} ${local.slice(11, 19)}${offset < 0 ? '-' : '+'}${distance}`
}

const units = [
  ['y', 365 * 86_400],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** Formats the distance of an instant from now in its largest unit: `3h ago`, `in 5d`. */
export function distanceOf(instant: string, now: number): string {
  const seconds = Math.round((Date.parse(instant) - now) / 1000)
  const size = Math.abs(seconds)
  const [unit, length] = units.find(([, it]) => size >= it) ?? ['s', 1]
  const amount = `${Math.floor(size / length)}${unit}`
  if (seconds === 0) return 'now'
  return seconds < 0 ? `${amount} ago` : `in ${amount}`
}

export const timeInList = (instant: string, { now, zone }: Times) =>
  isInstant(instant) ? `${withTimes(instant, zone)} (${distanceOf(instant, now)})` : instant

/** Labels of members whose name does not explain itself to a person. */
const labels: Readonly<Record<string, string>> = { latched: 'never plain again', 'secure.latched': 'never plain again' }

/** Converts a member name such as `externalIssueId` or `external_issue_id` to `external issue id`. */
export function labelOf(name: string): string {
  if (Object.hasOwn(labels, name)) return labels[name] as string
  return plainLine(name)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_.]/g, ' ')
    .toLowerCase()
}

/** Formats a number with separators, such as `12,345`. */
export const numberText = (it: number): string => it.toLocaleString('en-US')

/** Returns a string as it is, and any other value as JSON. */
export const textOrJson = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Formats a value on one line for a person. */
export function textOf(value: unknown, zone: Zone): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'string') return plainLine(isInstant(value) ? withTimes(value, zone) : value)
  if (Array.isArray(value)) return value.map((it) => textOf(it, zone)).join(', ') || '-'
  if (typeof value === 'object') {
    return (
      Object.entries(value)
        .filter(([, it]) => it !== null)
        .map(([name, it]) => `${labelOf(name)} ${memberText(name, it, zone)}`)
        .join(', ') || '-'
    )
  }
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
}

/** Names of members that hold Unix seconds (rules/calls.md#times). Values beyond the range of Date stay numbers. */
const UNIX_SECONDS = /(?:^|[._])date$/
const UNIX_SECONDS_MAX = 8.64e12

/** Formats a member. @param now current time in ms, to add relative times */
export function memberText(name: string, value: unknown, zone: Zone, now?: number): string {
  const isDate = typeof value === 'number' && UNIX_SECONDS.test(name) && Math.abs(value) <= UNIX_SECONDS_MAX
  const shown = isDate ? new Date(value * 1000).toISOString() : value
  return now !== undefined && isInstant(shown) ? timeInList(shown, { now, zone }) : textOf(shown, zone)
}

/** Thrown when a sentence reads a member that the response lacks. */
class MissingMember extends Error {}

/** Members that JSON.stringify and await read from any object. */
const languageMembers = ['toJSON', 'then']

/**
 * Builds a sentence about a response; undefined if a member that the sentence needs is missing or has another type.
 * Responses are not validated, and a missing member must not hide that the command succeeded.
 */
export function sentence<Data>(make: ((data: Data) => string | undefined) | undefined, data: Data): string | undefined {
  try {
    return typeof data !== 'object' || data === null ? undefined : make?.(complete(data))
  } catch (error) {
    if (error instanceof MissingMember || error instanceof TypeError) return undefined
    throw error
  }
}

function complete<T>(value: T): T {
  if (value === undefined) throw new MissingMember()
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof name === 'symbol' || languageMembers.includes(name) || typeof member === 'function') return member
      return complete(member)
    },
  })
}

/** Breaks a text at spaces into lines of at most `width` characters; a longer word gets its own line. */
export function wrap(text: string, width: number, indent = ''): string[] {
  return wrapWords(wordsOf(text, width - indent.length), width, indent)
}

/** Splits a text at spaces, except in a suggested command of at most `longest` characters, so that it can be copied. */
function wordsOf(text: string, longest = Number.POSITIVE_INFINITY): string[] {
  const whole = (command: string) => (command.length <= longest ? command.replaceAll(' ', '\0') : command)
  const words = text.replace(/`[^`]*`/g, whole).split(' ')
  return words.map((it) => it.replaceAll('\0', ' '))
}

/** Matches the indentation for further lines of a message: the indentation of its first line, and the label. */
const START = /^ *(?:(?:error|hint|warning|note): )?/

/** Matches a line for a shell, which stays whole so that it can be copied. */
const SHELL_LINE = /^ *export /

const COLOURS = /\u001b\[[\d;]*m/g

const lengthOf = (text: string) => text.replaceAll(COLOURS, '').length

/** Breaks the lines of a message for a terminal of `width` columns. */
export function wrapMessage(message: string, width: number): string {
  const broken = message.split('\n').flatMap((line) => {
    if (lengthOf(line) <= width || SHELL_LINE.test(line)) return [line]
    const [start] = START.exec(line.replaceAll(COLOURS, '')) ?? ['']
    const [first = '', ...words] = wordsOf(line.trimStart())
    const own = line.slice(0, line.length - line.trimStart().length)
    return wrapWords([own + first, ...words], width, ' '.repeat(start.length))
  })
  return broken.join('\n')
}

export function wrapWords(words: readonly string[], width: number, indent: string): string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && lengthOf(line) + 1 + lengthOf(word) > width) {
      wrapped.push(line)
      line = indent + word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...wrapped, line]
}

/** Columns of a help page; the left of two cells can take no more. */
const PAGE_WIDTH = 80
const WIDEST_HEAD = 30

/** Formats two columns for a terminal of 80 columns. A left cell that is too wide gets its own line. */
export function rows(entries: readonly (readonly [string, string])[], least = 0): string[] {
  const width = Math.max(...entries.map(([head]) => head.length).filter((it) => it <= WIDEST_HEAD), least)
  return entries.flatMap(([head, text]) => {
    const indent = ' '.repeat(width + 4)
    const wrapped = wrap(text, PAGE_WIDTH - indent.length)
    if (head.length > width) return [`  ${head}`, ...wrapped.map((it) => indent + it)]
    return wrapped.map((it, i) => (i === 0 ? `  ${head.padEnd(width)}  ${it}` : indent + it))
  })
}

/** Columns between the name and the value of a member, and between the columns of a table. */
export const GAP = 2

/** Formats a record as lines of name and value. @param named true with --fields, which also shows empty members */
export function showRecord(
  record: unknown,
  members: readonly string[] | undefined,
  { paint, width, zone }: Screen,
  named = false,
): string {
  if (typeof record !== 'object' || record === null) return `${textOf(record, zone)}\n`
  const names = members ?? Object.keys(record)
  const rows = names
    .map((name) => [labelOf(name), valueAt(record, name), name] as const)
    .filter(([, value]) => named || !isEmpty(value))
  const labels = Math.max(0, ...rows.map(([label]) => label.length))
  const line = ([label, value, name]: (typeof rows)[number]) => {
    const text = memberText(name, value, zone)
    const beside = wrap(text, width === undefined ? Number.POSITIVE_INFINITY : width - labels - GAP)
    const fits = width === undefined || beside.every((it) => widthOf(it) <= width - labels - GAP)
    // A long id may fit on its own line, without the name beside it.
    const lines = fits ? beside : wrap(text, width - GAP)
    const shown = lines.map((it) => paintCell(name, it, paint)).join(`\n${' '.repeat(fits ? labels + GAP : GAP)}`)
    return fits
      ? `${paint.quiet(label.padEnd(labels))}  ${shown}\n`
      : `${paint.quiet(label)}\n${' '.repeat(GAP)}${shown}\n`
  }
  return rows.map(line).join('')
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true
  return typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0
}

export function cut(text: string, room: number): string {
  if (widthOf(text) <= room) return text
  const characters = [...text]
  while (widthOf(characters.join('')) >= room) characters.pop()
  return `${characters.join('')}…`
}

/** Number of terminal columns of a text: East Asian wide characters and emoji take two each. */
export function widthOf(text: string): number {
  const wide = text.match(
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/gu,
  )
  return [...text].length + (wide?.length ?? 0)
}

export const paintCell = (name: string, text: string, paint: Paint) =>
  /^status$|Status$|^redeemable$|\.status$/.test(name) ? paint.status(text) : text

/** Escapes a text for HTML, also within an attribute. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`)
