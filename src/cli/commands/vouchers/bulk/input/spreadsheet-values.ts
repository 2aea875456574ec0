import { bad, isBad, type ReadRow } from './row.js'

/** Errors such as `#REF!`, `#¡REF!`, `#N/A` and `#NV` in any language, `####` of a narrow column, and `Err:502`. */
const ERROR = /^(?:#[\p{L}¡¿].*[!?]|#\p{L}{1,2}\/\p{L}|#NV|#GETTING_DATA|##+|Err:\d+)$/u
/** Rounded numbers such as 8.61391E+12, but not ids such as 12e34 or 4e-12. */
const ROUNDED = /^[-+]?\d+(?:[.,]\d+e[-+]?\d+|e\+\d+)$/i
/** Dates such as 2027-01-31, 31.1.27, 5-Mar and Jan-27, with or without a time. */
const DATE =
  /^(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}[-/. ]+\p{L}{3,4}\.?(?:[-/. ]\d{2,4})?|\p{L}{3,4}\.?[-/ ]\d{1,4}|\d+[年月].+)(?:[ T]\d.*)?$/u

const formOf = (value: string | undefined) =>
  value === undefined
    ? 'none'
    : ROUNDED.test(value) || ERROR.test(value)
      ? 'made'
      : /^\d+$/.test(value)
        ? 'digits'
        : DATE.test(value)
          ? 'date'
          : 'other'

/**
 * Refuses rows whose ids a spreadsheet replaced (RULES.md#bulk-commands). A date is refused if all other values of its
 * column, up to the end of its block, are digits.
 */
export async function* refuseSpreadsheetValues(
  blocks: AsyncIterable<readonly ReadRow[]>,
  ids: readonly string[],
): AsyncGenerator<readonly ReadRow[]> {
  const seen = ids.map(() => new Set<string>())
  for await (const block of blocks) {
    const forms = block.map(({ values }) => ids.map((name) => formOf(values?.[name])))
    for (const row of forms) for (const [i, form] of row.entries()) seen[i]?.add(form)
    yield block.map((row, at) => {
      const isReplaced = (form: string, i: number) =>
        form === 'made' || (form === 'date' && seen[i]?.has('digits') && !seen[i].has('other'))
      const name = isBad(row) ? undefined : ids[forms[at]?.findIndex(isReplaced) ?? -1]
      return name === undefined
        ? row
        : { ...bad(row.line, 'VALUE_OF_SPREADSHEET', message(name)), values: row.values ?? {} }
    })
  }
}

const message = (name: string) =>
  `${name} is a rounded number, error or date that a spreadsheet put in place of the id: format the column as text before you fill it, or keep such values with --allow-spreadsheet-values`
