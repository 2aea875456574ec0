import { bad, isBad, type ReadRow } from './row.js'

/** Errors such as `#REF!`, `#¡REF!`, `#N/A` and `#NV` in any language, `####` of a narrow column, and `Err:502`. */
const ERROR = /^(?:#[\p{Lu}¡¿][^\p{Ll}]*[!?]|#\p{Lu}{1,2}\/\p{Lu}|#NV|#YOK|#GETTING_DATA|##+|Err:\d+)$/u
/** Rounded numbers such as 8.61391E+12, but not ids such as 12e34 or 4e-12. */
const ROUNDED = /^[-+]?\d+(?:[.,]\d+e[-+]?\d+|e\+\d+)$/i
const MONTHS =
  'jan|gen|ene|feb|fév|mar|mär|maa|mrt|apr|avr|abr|may|mai|mei|mag|jun|jui|giu|jul|lug|aug|aoû|ago|sep|set|oct|okt|ott|nov|dec|dez|déc|dic'
const [GAP, DAY, MONTH, YEAR] = ['[-./ ]+', '(?:0?[1-9]|[12]\\d|3[01])', `(?:${MONTHS})\\p{L}*`, '(?:\\d{4}|\\d\\d)']
/** Dates such as 2027-01-31, 31.1.27, 5-Mar and Jan-27, with or without a time. An id such as VIP-27 is none. */
const DATE = new RegExp(
  `^(?:\\d{4}${GAP}${DAY}${GAP}${DAY}|${DAY}${GAP}(?:${DAY}${GAP}${YEAR}|${MONTH}(?:${GAP}${YEAR})?)|${MONTH}${GAP}\\d{1,4}|\\d+[年月].+)\\.?(?:[ T]\\d.*)?$`,
  'iu',
)

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
