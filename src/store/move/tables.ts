/**
 * What an export holds: all that outlives a server, whoever is referred to before who refers. The columns come from
 * the database itself; test/store/move/tables.test.ts finds a table that no list here names.
 */
export const moved = [
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
] as const

export type Moved = (typeof moved)[number]

export const isMoved = (name: unknown): name is Moved => moved.some((it) => it === name)

/** Of a moment: who has a session, which envelopes were used, who polls. A crash of the database may take them too. */
export const leftOut = ['secure_sessions', 'secure_rids', 'open_polls'] as const

/** Static keys of the encrypted transport: on SQLite a file beside the database, so that they are in the header. */
export const inHeader = ['secure_keys'] as const

export const allTables = [...moved, ...leftOut, ...inHeader]

/**
 * Columns that are not taken as they are. A lease belongs to a process that goes on without the export: its delivery
 * waits again as it did before the claim, and the attempt that is under way is not counted.
 */
export const instead: Readonly<Partial<Record<Moved, Readonly<Record<string, string>>>>> = {
  deliveries: {
    status: `case when lease_until is null then status
      when resume_status is null and attempt_count > 0 then 'failed' else 'pending' end`,
    ready: 'case when lease_until is null then ready else 1 end',
    next_attempt_at: `case when lease_until is null or resume_status is not null or attempt_count = 0
      then next_attempt_at else last_attempt_at end`,
    lease_until: 'cast(null as bigint)',
  },
}
