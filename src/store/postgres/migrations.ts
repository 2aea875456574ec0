import { postgresTriggers } from '../migrations/0002-bot-counts.js'
import { migrationsFor } from '../migrations/index.js'

/** Tables and indexes for PostgreSQL only, which several processes share. */
const own = `
-- Detects two redemptions of one voucher in the same transaction (GroupCommit in store.ts).
create unique index redemptions_in_force on redemptions (application_id, voucher_id) where reversed_at is null;

-- A crash may lose a session with its replay marks, but never one without the other (rules/encryption.md#replay-marks).
-- A session is confirmed after its first successful call; confirmed sessions are evicted last.
create unlogged table secure_sessions (
  sid text collate "C" primary key,
  sealed text not null,
  expires_at bigint not null,
  rids integer not null,
  confirmed integer not null check (confirmed in (0, 1))
) with (fillfactor = 50);
create index secure_sessions_by_expiry on secure_sessions (expires_at);
create unlogged table secure_rids (
  sid text collate "C" not null references secure_sessions (sid) on delete cascade,
  rid text collate "C" not null,
  primary key (sid, rid)
);

-- The static keys of the encrypted transport, encrypted, shared by all processes.
create table secure_keys (
  place integer primary key check (place = 1),
  version integer not null,
  sealed text not null
);

-- The open poll of each bot, in any process: a newer poll ends the older one. System time.
create unlogged table open_polls (
  bot_id text collate "C" primary key,
  holder text not null,
  until bigint not null
);
`

export const migrations = migrationsFor({
  // The collation "C" compares bytes, as SQLite does.
  key: 'text collate "C"',
  int64: 'bigint',
  rows: '',
  byKey: '',
  // Free space in the page lets PostgreSQL update a row in place (HOT), without index writes.
  busyRows: ' with (fillfactor = 85)',
  busyByKey: ' with (fillfactor = 50)',
  own,
  // No primary key: several rows may belong to the same count.
  counts: ') with (fillfactor = 50);\ncreate index bot_counts_by_kind on bot_counts (bot_id, kind, block)',
  countTriggers: postgresTriggers,
})
