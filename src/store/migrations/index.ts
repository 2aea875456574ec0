import { type Dialect, initial } from './0001-initial.js'
import { botCounts } from './0002-bot-counts.js'

export interface Migration {
  readonly name: string
  readonly sql: string
}

/** Migrations in order; the schema version is the number of completed ones. Never change a released migration. */
const all: readonly { readonly name: string; sql(dialect: Dialect): string }[] = [
  { name: '0001-initial', sql: initial },
  { name: '0002-bot-counts', sql: botCounts },
  {
    // A webhook that a listener borrows (rules/webhooks.md#borrowed-webhooks). `lease` is JSON with the lease id, its
    // holder and the settings of the owner; `lease_until` is system time.
    name: '0003-webhook-leases',
    sql: ({ int64 }) => `
alter table webhooks add column lease text;
alter table webhooks add column lease_until ${int64};
create index webhooks_leased on webhooks (lease_until) where lease_until is not null;
`,
  },
  // For the operator's list of the bots of all accounts.
  { name: '0004-bots-by-age', sql: () => 'create index bots_by_age on bots (created_at, id);' },
  {
    // Kind of the planted fault that affected an attempt, and an index of the deliveries that a fault has postponed.
    name: '0005-delivery-faults',
    sql: () => `alter table delivery_attempts add column fault text;
create index deliveries_postponed on deliveries (bot_id, chat_key, update_id)
  where status = 'failed' and ready = 0 and last_error_code = 'postponed';`,
  },
  {
    // For the operator's search, which knows no application (rules/operator.md#operator-api).
    name: '0006-find-indexes',
    sql: () => `create index vouchers_by_external_id on vouchers (external_issue_id);
create index vouchers_by_recipient on vouchers (recipient_user_id, issued_at); create index chats_by_user on chats (user_id);
create index templates_by_own_id on templates (external_template_id);`,
  },
  {
    // Difference of the test clock from the true time, in its only row (rules/operator.md#test-clock).
    name: '0007-test-clock',
    sql: ({ int64, rows }) =>
      `create table test_clock (place integer primary key check (place = 1), ahead_ms ${int64} not null)${rows};`,
  },
  // For the operator's list of the deliveries of one chat.
  {
    name: '0008-deliveries-of-chats',
    sql: () => 'create index deliveries_by_chat on deliveries (chat_key, created_at, id);',
  },
]

export const SCHEMA_VERSION = all.length

/** Returns the migrations in the SQL of an engine. */
export const migrationsFor = (dialect: Dialect): readonly Migration[] =>
  all.map(({ name, sql }) => ({ name, sql: sql(dialect) }))
