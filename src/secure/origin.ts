/**
 * True for an origin as browsers send it: scheme http or https, host in lower case, a port only where it is not the
 * scheme's own, nothing behind. `null`, lists and wildcards are none.
 */
export function isCanonicalOrigin(text: string): boolean {
  return /^https?:\/\/[^|]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/**
 * Applies a list of allowed origins (DECISIONS.md#session-origins). `*` allows any origin and none; a list without it
 * requires one of its own. Compared byte for byte.
 * @param origin the Origin header, `''` when there is none
 */
export function isOriginAllowed(policy: readonly string[], origin: string): boolean {
  return policy.includes('*') || (origin !== '' && policy.includes(origin))
}
