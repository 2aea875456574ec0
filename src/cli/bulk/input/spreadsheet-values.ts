import { bad, isBad, type ReadRow } from './row.js'

/** Errors such as `#REF!`, `#¡REF!`, `#N/A` and `#NV` in any language, `####` of a narrow column, and `Err:502`. */
const ERROR = /^(?:#[\p{L}¡¿]\S*[!?]|#\p{L}{1,2}\/\p{L}|#NV|#YOK|#GETTING_DATA|##+|Err:\d+)$/iu
/** Rounded numbers such as 8.61391E+12, but not ids such as 12e34 or 4e-12. */
const ROUNDED = /^[-+]?\d+(?:[.,]\d+\s*e\s*[-+]?\d+|\s*e\s*\+\d+)$/i
/** 1E15, a time such as 12:30, and a day with a word that is not in capitals: 12-paź, but not the id 12-VIP. */
const AMONG_DIGITS =
  /^(?:\d[eE]\d{1,3}|\d{1,4}:\d\d(?::\d\d)?(?:[.,]\d+)?[\p{L}.\s]*|\d{1,2}[-./\s]+\p{L}[\p{Ll}\p{Lo}]{2,}\.?(?:[-./\s]+\d+)?)$/u
const MONTHS =
  'jan|gen|ene|feb|fév|mar|mär|maa|mrt|mrz|apr|avr|abr|may|mai|mei|mag|jun|jui|giu|jul|lug|aug|aoû|ago|sep|set|oct|okt|ott|nov|dec|dez|déc|dic|янв|фев|мар|апр|май|мая|июн|июл|авг|сен|окт|ноя|дек'
const [GAP, DAY, MONTH, YEAR] = ['[-./\\s]+', '(?:0?[1-9]|[12]\\d|3[01])', `(?:${MONTHS})\\p{L}*`, '(?:\\d{4}|\\d\\d)']
/** Dates such as 2027-01-31, 31.1.27, 31.1., 5-Mar and Jan-27, with or without a time. An id such as VIP-27 is none. */
const DATE = new RegExp(
  `^(?:\\d{4}${GAP}${DAY}${GAP}${DAY}|${DAY}\\.${DAY}\\.|${DAY}${GAP}(?:${DAY}${GAP}${YEAR}|${MONTH}(?:${GAP}${YEAR})?)|${MONTH}${GAP}\\d{1,4}|\\d+[年月].+)\\.?(?:[\\sT]\\d.*)?$`,
  'iu',
)

function formOf(given: string | undefined) {
  if (given === undefined) return 'none'
  const value = given.trim()
  if (ROUNDED.test(value) || ERROR.test(value)) return 'made'
  if (/^\d+$/.test(value)) return 'digits'
  return DATE.test(value) || AMONG_DIGITS.test(value) ? 'date' : 'other'
}

/**
 * Refuses rows whose ids a spreadsheet replaced (rules/cli.md#bulk-commands). A value in the form of a date or time is
 * refused if all other values of its column, up to the end of its block, are digits.
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
  `${name} is a rounded number, error, date or time that a spreadsheet put in place of the id: format the column as text before you fill it, or keep such values with --allow-spreadsheet-values`
