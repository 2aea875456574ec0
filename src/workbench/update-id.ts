/** Converts an update_id for JSON output: a number if JSON parsers represent it exactly, else a text of digits. */
export function updateIdOf(digits: string | null): number | string | null {
  if (digits === null) return null
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits
}
