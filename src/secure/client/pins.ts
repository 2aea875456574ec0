/** The last character carries two bits that are not there. */
const PIN = /^sha256:[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
const MAX_PINS = 2

/** True for pins of server keys, two at most (DECISIONS.md#key-pins). Loads nothing, unlike isPin. */
export function arePins(pins: readonly string[]): boolean {
  return pins.length <= MAX_PINS && pins.every((pin) => PIN.test(pin))
}
