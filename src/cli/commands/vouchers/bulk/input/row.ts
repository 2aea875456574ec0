import { hash } from 'node:crypto'
import { codeOf } from '../../../../../files/error-code.js'

/** What one voucher is issued from, and the line on which it stands, from 1. */
export interface Row {
  readonly line: number
  readonly external_issue_id: string
  readonly recipient_user_id: string
  /** Sent as it is: the interface says nothing of it. */
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Why a row is not sent. */
export interface RowFault {
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

/** A row that cannot be sent, with what could be read of it. */
export interface BadRow {
  readonly line: number
  readonly fault: RowFault
  readonly external_issue_id?: string
  readonly recipient_user_id?: string
}

export type ReadRow = Row | BadRow
export const isBad = (row: ReadRow): row is BadRow => 'fault' in row

export const bad = (line: number, code: RowFault['code'], message: string): BadRow => ({
  line,
  fault: { code, message },
})

/** An input of which not even the rows can be told: nothing of it is issued. */
export class UnreadableInput extends Error {
  override readonly name = 'UnreadableInput'
  readonly code = 'UNREADABLE_INPUT'
  readonly hint: string | null
  constructor(message: string, hint: string | null = null) {
    super(message)
    this.hint = hint
  }
}

export const isUnreadableInput = (error: unknown): error is UnreadableInput => codeOf(error) === 'UNREADABLE_INPUT'

/**
 * The idempotency key of a row: the same in every run, so that a row whose response was lost is sent again and issued
 * once. It leaves out metadata, which does not identify a voucher (DECISIONS.md#issue).
 */
export function idempotencyKeyOf(template: string, row: Pick<Row, 'external_issue_id' | 'recipient_user_id'>): string {
  const what = JSON.stringify(['issue-many', template, row.external_issue_id, row.recipient_user_id])
  return `issue-many-${hash('sha256', what, 'base64url')}`
}

/** Checks that both ids are there; the server checks the rest (DECISIONS.md#rows-of-issue-many). */
export function rowOf(line: number, members: Readonly<Record<string, unknown>>): ReadRow {
  const { external_issue_id: id, recipient_user_id: recipient, metadata } = members
  const read = {
    ...(typeof id === 'string' ? { external_issue_id: id } : {}),
    ...(typeof recipient === 'string' ? { recipient_user_id: recipient } : {}),
  }
  for (const name of ['external_issue_id', 'recipient_user_id']) {
    const value = members[name]
    if (value === undefined || value === '') return { ...bad(line, 'VALUE_MISSING', `${name} is missing`), ...read }
    if (typeof value !== 'string') return { ...bad(line, 'VALUE_WRONG', `${name} must be a text`), ...read }
  }
  if (metadata === undefined) return { line, ...read } as Row
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
    return { ...bad(line, 'VALUE_WRONG', 'metadata must be a JSON object'), ...read }
  }
  return { line, ...read, metadata } as Row
}

export const members = ['external_issue_id', 'recipient_user_id', 'metadata'] as const

/** The member that was probably meant by another spelling. */
export function suggestionFor(name: string): string | undefined {
  const bare = (it: string) => it.toLowerCase().replace(/[^a-z]/g, '')
  const shortForms: Readonly<Record<string, string>> = {
    externalid: 'external_issue_id',
    recipient: 'recipient_user_id',
  }
  return members.find((it) => bare(it) === bare(name)) ?? shortForms[bare(name)]
}
