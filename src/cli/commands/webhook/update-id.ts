/** As every other answer has it: a number, where the readers of JSON keep it exact; else its digits. */
export function updateIdOf(digits: string | null): number | string | null {
  if (digits === null) return null
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits
}
