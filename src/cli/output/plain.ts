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

/** Does the same for a text or number of a line that nobody has checked. @throws TypeError for any other value */
export function plainMember(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw new TypeError('a member has another type')
  return plainLine(String(value))
}
