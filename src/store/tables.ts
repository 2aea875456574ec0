/**
 * Tables of an export; a referenced table precedes the tables that refer to it. The database supplies the columns.
 * test/store/tables.test.ts fails for a table that no list of this file names.
 */
export const exportedTables = [
  'credential_keys',
  'applications',
  'tokens',
  'templates',
  'vouchers',
  'redemptions',
  'idempotency_keys',
  'bots',
  'bot_tokens',
  'chats',
  'messages',
  'update_queues',
  'updates',
  'webhooks',
  'deliveries',
  'delivery_attempts',
  'bot_calls',
  'test_clock',
] as const

export type ExportedTable = (typeof exportedTables)[number]

export const isExportedTable = (name: unknown): name is ExportedTable => exportedTables.some((it) => it === name)

/** Transient state (sessions, replay marks, open polls), which a crash of the database may lose as well. */
export const transientTables = ['secure_sessions', 'secure_rids', 'open_polls'] as const

/** Table with the transport keys. With SQLite the keys are in a file, so an export has them in its header. */
export const headerTables = ['secure_keys'] as const

/** Counts of rows in other tables, which triggers maintain (migrations/0002-bot-counts.ts). An import counts again. */
export const derivedTables = ['bot_counts'] as const

/**
 * Tables that a reset empties, last one first, and that a snapshot copies, without triggers. Referenced tables come
 * first, but counts precede all, because a deletion from another table changes them.
 */
export const stateTables = [...derivedTables, ...exportedTables.filter((it) => it !== 'credential_keys')]

export const allTables = [...exportedTables, ...transientTables, ...headerTables, ...derivedTables]

/**
 * Columns with a different value in an export. A lease belongs to a running process: the export resets the delivery to
 * its state before the claim, without the running attempt.
 */
export const columnOverrides: Readonly<Partial<Record<ExportedTable, Readonly<Record<string, string>>>>> = {
  deliveries: {
    status: `case when lease_until is null then status
      when resume_status is null and attempt_count > 0 then 'failed' else 'pending' end`,
    ready: 'case when lease_until is null then ready else 1 end',
    next_attempt_at: `case when lease_until is null or resume_status is not null or attempt_count = 0
      then next_attempt_at else last_attempt_at end`,
    lease_until: 'cast(null as bigint)',
  },
}
