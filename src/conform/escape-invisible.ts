/** Escapes characters in a JSON text that a terminal combines or hides. The parsed value stays the same. */
export const escapeInvisible = (json: string): string =>
  json.replaceAll(/[\p{M}\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/gu, (text) =>
    Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
