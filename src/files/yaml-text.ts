import type { Scalar, Tags } from 'yaml'

/** Characters that JSON and YAML need not escape, but that a terminal interprets or a reader refuses. */
const UNESCAPED = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g

/** Escapes control characters for a text in double quotes; JSON and YAML have the same escape sequences. */
export const escapeControls = (text: string) =>
  text.replace(UNESCAPED, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Texts that a reader of YAML 1.1 or 1.2 may take for another type, such as a number or a date; no durations such as 31d. */
const OTHER_TYPE =
  /^(?!\d+(?:ms|[smhd])$)(?:[-+]?\.?(?:[\d_].*|e?[-+]?\d*|inf|nan)|[~=:<].*|y|n|yes|no|on|off|true|false|null)$/is

/**
 * True for a text that needs double quotes. Readers lose spaces of a text that has only white space. Between brackets,
 * some readers end a text without quotes at `?` or `:`.
 */
const mustQuote = (text: string, inFlow: boolean | null) =>
  OTHER_TYPE.test(text) ||
  text.trim() === '' ||
  text.includes('\t') ||
  text.search(UNESCAPED) >= 0 ||
  (inFlow && /[?:]/.test(text))

/** Options of the YAML library for texts that readers of YAML 1.1 and 1.2 read alike (rules/cli.md#yaml-files). */
export const yamlOptions = {
  lineWidth: 0,
  customTags: (tags: Tags): Tags =>
    tags.map((tag) => {
      if (typeof tag === 'string' || tag.collection !== undefined) return tag
      const stringify: typeof tag.stringify = (item, context, ...more) => {
        const { value } = item
        const isQuoted = typeof value === 'string' && mustQuote(value, context.inFlow)
        const node = isQuoted ? ({ ...item, type: 'QUOTE_DOUBLE' } as Scalar) : item
        const text = tag.stringify?.(node, context, ...more) ?? String(value)
        // YAML 1.1 takes a number with an exponent but without a point for a text.
        return isQuoted ? escapeControls(text) : typeof value === 'number' ? text.replace(/^(-?\d+)e/, '$1.0e') : text
      }
      return { ...tag, stringify }
    }),
}
