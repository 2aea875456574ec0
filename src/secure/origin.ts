/**
 * True for an origin as browsers serialise it: scheme http or https, host in lower case, no default port, no path.
 * False for `null`, lists and wildcards.
 */
export function isCanonicalOrigin(text: string): boolean {
  return /^https?:\/\/[^|]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text
}

/**
 * Applies a list of allowed origins (rules/encryption.md#session-origins). `*` allows any origin and a missing one; a
 * list without it requires an exact match, byte for byte.
 * @param origin the Origin header, `''` without one
 */
export function isOriginAllowed(policy: readonly string[], origin: string): boolean {
  return policy.includes('*') || (origin !== '' && policy.includes(origin))
}
