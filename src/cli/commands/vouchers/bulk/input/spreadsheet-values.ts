import { bad, isBad, type ReadRow } from './row.js'

/** Errors such as `#REF!`, `#¡REF!`, `#N/A` and `#NV` in any language, `####` of a narrow column, and `Err:502`. */
const ERROR = /^(?:#[\p{L}¡¿].*[!?]|#\p{L}{1,2}\/\p{L}|#NV|#GETTING_DATA|##+|Err:\d+)$/u
/** Rounded numbers such as 8.61391E+12; an id such as 12e34 or 4e-12 is none. */
const ROUNDED = /^[-+]?\d+(?:[.,]\d+e[-+]?\d+|e\+\d+)$/i
/** Dates such as 2027-01-31, 31.1.27, 5-Mar and Jan-27, with or without a time. */
const DATE =
  /^(?:\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}[-/. ]+\p{L}{3,4}\.?(?:[-/. ]\d{2,4})?|\p{L}{3,4}\.?[-/ ]\d{1,4}|\d+[年月].+)(?:[ T]\d.*)?$/u

/**
 * Refuses rows whose ids a spreadsheet replaced (RULES.md#bulk-commands). A date is refused in a column that has only
 * digits otherwise, up to the end of its block.
 */
export async function* refuseSpreadsheetValues(
  blocks: AsyncIterable<readonly ReadRow[]>,
  ids: readonly string[],
): AsyncGenerator<readonly ReadRow[]> {
  const forms = new Map(ids.map((name) => [name, { digits: 0, others: 0 }]))
  for await (const block of blocks) {
    for (const { values } of block)
      for (const [name, form] of forms) {
        const value = values?.[name] ?? ''
        if (/^\d+$/.test(value)) form.digits += 1
        else if (value !== '' && !DATE.test(value) && !isMade(value)) form.others += 1
      }
    yield block.map((row) => {
      if (isBad(row)) return row
      const isReplaced = (name: string) => {
        const { digits = 0, others = 0 } = forms.get(name) ?? {}
        const value = row.values[name] ?? ''
        return isMade(value) || (digits > 0 && others === 0 && DATE.test(value))
      }
      const name = ids.find(isReplaced)
      return name === undefined ? row : { ...bad(row.line, 'VALUE_OF_SPREADSHEET', message(name)), values: row.values }
    })
  }
}

const isMade = (value: string) => ROUNDED.test(value) || ERROR.test(value)

const message = (name: string) =>
  `${name} is a rounded number, error or date that a spreadsheet put in place of the id: format the column as text before you fill it, or keep such values with --allow-spreadsheet-values`
