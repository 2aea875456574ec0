/** Sequences that move a cursor, colour, retitle or otherwise command a terminal (ECMA-48), with 7 and 8 bit starts. */
const SEQUENCES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g

/** What is left of control characters, what turns the writing direction, and separators of lines. Tab and LF stay. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text of a server, safe to print on a terminal. */
export function plain(text: string): string {
  return text.replace(SEQUENCES, '').replace(CONTROLS, '')
}

/** The same on one line. */
export function plainLine(text: string): string {
  return plain(text).replace(/[\t\n]+/g, ' ')
}

/** A value with every text in it changed, names of members too. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((it) => mapTexts(it, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [change(name), mapTexts(it, change)]))
}
