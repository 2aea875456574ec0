import { hash } from 'node:crypto'
import { asMembers } from '../../../../../secure/json.js'

/** The input of one voucher with its line number, from 1. */
export interface InputRow {
  readonly line: number
  readonly external_issue_id: string
  readonly recipient_user_id: string
  /** Sent unchanged: the interface does not define its members. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Why a row is not sent. */
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

/** A row that cannot be sent, with the ids that could be read. */
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

/** Input without readable rows: nothing is issued. */
export class UnreadableInput extends Error {
  override readonly name = 'UnreadableInput'
  readonly hint: string | null
  constructor(message: string, hint: string | null = null) {
    super(message)
    this.hint = hint
  }
}

/**
 * The idempotency key of a row: the same in every run, so that a retry after a lost response issues the voucher only
 * once. It leaves out metadata, which does not identify a voucher (DECISIONS.md#issue).
 */
export function idempotencyKeyOf(
  template: string,
  row: Pick<InputRow, 'external_issue_id' | 'recipient_user_id'>,
): string {
  const what = JSON.stringify(['issue-many', template, row.external_issue_id, row.recipient_user_id])
  return `issue-many-${hash('sha256', what, 'base64url')}`
}

export const ids = ['external_issue_id', 'recipient_user_id'] as const

/** Checks that both ids are there; the server checks the rest (DECISIONS.md#rows-of-issue-many). */
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
