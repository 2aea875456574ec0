import { initial } from '../migrations/0001-initial.js'

const shared = initial({
  // Compared as SQLite compares.
  key: 'text collate "C"',
  int64: 'bigint',
  rows: '',
  byKey: '',
  // Rows that change often leave room in their pages, so that no index has to follow them.
  busyRows: ' with (fillfactor = 85)',
  busyByKey: ' with (fillfactor = 50)',
})

/** What several processes need. */
const own = `
-- Of redemptions that share a commit, at most one takes a voucher (store.ts, GroupCommit).
create unique index redemptions_in_force on redemptions (application_id, voucher_id) where reversed_at is null;

-- A crash may lose a session and the marks of its envelopes, both or none (DECISIONS.md#replay-marks). A session in which
-- a call has succeeded is confirmed, and evicted last.
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

-- The static keys of the encrypted transport, sealed, for all processes.
create table secure_keys (
  place integer primary key check (place = 1),
  version integer not null,
  sealed text not null
);

-- Who polls for a bot, in whichever process: a newer poll ends the older one. Times in true time.
create unlogged table open_polls (
  bot_id text collate "C" primary key,
  holder text not null,
  until bigint not null
);
`

/** In their order; the schema version is how many have run. Forward only: a released one never changes. */
export const migrations: readonly { readonly name: string; readonly sql: string }[] = [
  { name: '0001-initial', sql: shared + own },
]
