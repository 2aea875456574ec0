import { hash } from 'node:crypto'
import { asMembers } from '../../../../../secure/json.js'

/** Input row for one voucher, with its line number from 1. */
export interface InputRow {
  readonly line: number
  readonly external_issue_id: string
  readonly recipient_user_id: string
  /** Metadata of the voucher, sent unchanged. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Why a row is refused before it is sent. */
interface RowFault {
  readonly code:
    | 'VALUE_MISSING'
    | 'VALUE_WRONG'
    | 'MEMBER_UNKNOWN'
    | 'DUPLICATE'
    | 'MALFORMED'
    | 'NOT_UTF8'
    | 'TOO_LARGE'
  readonly message: string
}

/** A row that is refused before it is sent, with those of its ids that could be read. */
export interface BadRow {
  readonly line: number
  readonly fault: RowFault
  readonly external_issue_id?: string
  readonly recipient_user_id?: string
}

export type ReadRow = InputRow | BadRow
export const isBad = (row: ReadRow): row is BadRow => 'fault' in row

export const bad = (line: number, code: RowFault['code'], message: string): BadRow => ({
  line,
  fault: { code, message },
})

/** Thrown for input without readable rows; no voucher is issued then. */
export class UnreadableInput extends Error {
  override readonly name = 'UnreadableInput'
  readonly hint: string | null
  constructor(message: string, hint: string | null = null) {
    super(message)
    this.hint = hint
  }
}

/**
 * Derives the idempotency key of a row. It is the same in every run, so that a retry after a lost response does not
 * issue a second voucher. Metadata is left out, because it does not identify a voucher (DECISIONS.md#issue).
 */
export function idempotencyKeyOf(
  template: string,
  row: Pick<InputRow, 'external_issue_id' | 'recipient_user_id'>,
): string {
  const what = JSON.stringify(['issue-many', template, row.external_issue_id, row.recipient_user_id])
  return `issue-many-${hash('sha256', what, 'base64url')}`
}

export const ids = ['external_issue_id', 'recipient_user_id'] as const

/** Checks only that a row has both ids; the server checks everything else (DECISIONS.md#rows-of-issue-many). */
export function rowOf(line: number, members: Readonly<Record<string, unknown>>): ReadRow {
  const { metadata } = members
  const read = Object.fromEntries(ids.map((name) => [name, members[name]]).filter(([, it]) => typeof it === 'string'))
  for (const name of ids) {
    const value = members[name]
    if (value === undefined || value === '') return { ...bad(line, 'VALUE_MISSING', `${name} is missing`), ...read }
    if (typeof value !== 'string') return { ...bad(line, 'VALUE_WRONG', `${name} must be a text`), ...read }
  }
  if (metadata !== undefined && asMembers(metadata) === undefined) {
    return { ...bad(line, 'VALUE_WRONG', 'metadata must be a JSON object'), ...read }
  }
  return { line, ...read, ...(metadata === undefined ? {} : { metadata }) } as InputRow
}
