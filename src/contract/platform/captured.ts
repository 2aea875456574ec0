// Separate from activity.ts, because the page needs these values without the schemas.

/** Bodies of an exchange are cut at this length. */
export const CAPTURED_BYTES_MAX = 65_536

/** Text that replaces a secret in an exchange. */
export const HIDDEN = '[hidden]'

/** HIDDEN, or the name that a secret has for a recorder, such as `[hidden 3]`. */
export const SECRET_NAME = /^\[hidden(?: \d+)?\]$/
