/** An update_id in JSON output: a number if JSON parsers keep it exact, else its digits. */
export function updateIdOf(digits: string | null): number | string | null {
  if (digits === null) return null
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits
}
