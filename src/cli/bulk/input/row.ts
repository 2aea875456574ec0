import { checkRedeemCode } from '../../../contract/credential-symbols.js'
import { asMembers } from '../../../values/json.js'

/** Members that the rows of a command may have. */
export interface RowMembers {
  /** Groups of members. A row needs one member of each group; the first one present counts. */
  readonly needed: readonly (readonly string[])[]
  readonly optional: readonly string[]
  /** Result columns of other commands, ignored so that their results can be the input. */
  readonly ignored: readonly string[]
  /** True if a row may have metadata. */
  readonly metadata: boolean
  /** Other spellings of members, in lower case without separators. */
  readonly spellings: Readonly<Record<string, string>>
  /** Delimiter of CSV; undefined if the header decides. */
  readonly delimiter?: string | undefined
  /** Members with ids, which must not be values that a spreadsheet made. */
  readonly ids?: readonly string[]
  /** True if a redeem code with a wrong check symbol is refused before it is sent. */
  readonly checksCodes?: true
}

/** Input row for one call, with its line number from 1. */
export interface InputRow {
  readonly line: number
  readonly values: Readonly<Partial<Record<string, string>>>
  /** Metadata, sent unchanged. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Reason to refuse a row without a call. */
interface RowFault {
  readonly code:
    | 'VALUE_MISSING'
    | 'VALUE_WRONG'
    | 'MEMBER_UNKNOWN'
    | 'VALUE_OF_SPREADSHEET'
    | 'DUPLICATE'
    | 'MALFORMED'
    | 'NOT_UTF8'
    | 'TOO_LARGE'
  readonly message: string
}

/** A row that is refused without a call, with its readable values. */
export interface BadRow {
  readonly line: number
  readonly fault: RowFault
  readonly values?: InputRow['values']
}

export type ReadRow = InputRow | BadRow
export const isBad = (row: ReadRow): row is BadRow => 'fault' in row

export const bad = (line: number, code: RowFault['code'], message: string): BadRow => ({
  line,
  fault: { code, message },
})

/** Thrown for input without readable rows; no call has been made. */
export class UnreadableInput extends Error {
  override readonly name = 'UnreadableInput'
  readonly hint: string | null
  constructor(message: string, hint: string | null = null) {
    super(message)
    this.hint = hint
  }
}

/** Member that must differ in all rows. */
export const uniqueIn = ({ needed: [first = []] }: RowMembers, values: InputRow['values']) =>
  first.find((name) => values[name] !== undefined) ?? ''

/** Reads the text members of a row. Returns also the name of the first member that is not a text. */
function textsIn(members: Readonly<Record<string, unknown>>, { ignored }: RowMembers) {
  const values: Record<string, string> = {}
  let wrong: string | undefined
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined || value === '' || name === 'metadata' || ignored.includes(name)) continue
    if (typeof value === 'string') values[name] = value
    // Treat a null of NDJSON like an empty cell of CSV.
    else if (value !== null) wrong ??= name
  }
  return { values, wrong }
}

/** Checks only that a row has its members; the server checks everything else (rules/cli.md#bulk-commands). */
export function rowOf(line: number, members: Readonly<Record<string, unknown>>, known: RowMembers): ReadRow {
  const { values, wrong } = textsIn(members, known)
  const fault = (code: RowFault['code'], message: string) => ({ ...bad(line, code, message), values })
  if (wrong !== undefined) return fault('VALUE_WRONG', `${wrong} must be a text`)
  for (const group of known.needed) {
    const [first, ...others] = group.filter((name) => values[name] !== undefined)
    if (first === undefined) return fault('VALUE_MISSING', `${group.join(' or ')} is missing`)
    for (const name of others) delete values[name]
  }
  const { metadata } = members
  if (metadata !== undefined && asMembers(metadata) === undefined) {
    return fault('VALUE_WRONG', 'metadata must be a JSON object')
  }
  const { redeem_code: code } = values
  if (known.checksCodes && code !== undefined) {
    const check = checkRedeemCode(code)
    if (check === 'malformed') return fault('VALUE_WRONG', 'redeem_code is not a redeem code: 16 symbols')
    if (check === 'mistyped') return fault('VALUE_WRONG', 'redeem_code is mistyped: its check symbol does not fit')
  }
  return { line, values, ...(metadata === undefined ? {} : { metadata }) } as InputRow
}
