/** `sha256:` and 43 characters of base64url; the two unused bits of the last character must be zero. */
const PIN = /^sha256:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
const MAX_PINS = 2

export const isPin = (text: string): boolean => PIN.test(text)

/** True for at most two well-formed pins of server keys (DECISIONS.md#key-pins). */
export function arePins(pins: readonly string[]): boolean {
  return pins.length <= MAX_PINS && pins.every(isPin)
}
