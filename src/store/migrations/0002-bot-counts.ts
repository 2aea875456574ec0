import type { Dialect } from './0001-initial.js'

/** Rows of bots that are counted by kind and block. SQL of a row named `row`; a null kind is not counted. */
interface Counted {
  readonly table: 'deliveries' | 'updates' | 'delivery_attempts'
  readonly kind: (row: string) => string
  readonly block: (row: string) => string
}

/**
 * SQL of the kind under which a delivery is counted: its status; while it is sent, the status that it had before;
 * `manual` after a retry of a delivery that had not failed.
 */
export const deliveryKind = (row: string): string => `case
  when (${row}.status = 'pending' or ${row}.status = 'delivering') and coalesce(${row}.resume_status, 'failed') <> 'failed'
    then 'manual'
  when ${row}.status <> 'delivering' then ${row}.status
  when ${row}.resume_status is null and ${row}.attempt_count > 0 then 'failed'
  else 'pending' end`

const minute = (column: string) => (row: string) => `${row}.${column} / 60000`
/** Number of update ids per block of counts. */
export const BLOCK_UPDATES = 1000
const updateBlock = (row: string) => `${row}.update_id / ${BLOCK_UPDATES}`

const counted: readonly Counted[] = [
  { table: 'deliveries', kind: deliveryKind, block: updateBlock },
  {
    table: 'deliveries',
    kind: (row) => `case when ${row}.status = 'dead_letter' and ${row}.last_attempt_at is not null then 'dead' end`,
    // Null for other statuses: a trigger fires when the block changes, and each claim changes last_attempt_at.
    block: (row) => `case when ${row}.status = 'dead_letter' then ${row}.last_attempt_at / 60000 end`,
  },
  { table: 'updates', kind: (row) => `case when ${row}.pending = 1 then 'waiting' end`, block: updateBlock },
  { table: 'updates', kind: () => `'updates'`, block: minute('created_at') },
  { table: 'delivery_attempts', kind: () => `'attempts'`, block: minute('started_at') },
  {
    table: 'delivery_attempts',
    kind: (row) => `case when ${row}.error_code is not null then 'failures' end`,
    block: minute('started_at'),
  },
]

/** Tables with triggers. */
export const countedTables: readonly string[] = [...new Set(counted.map(({ table }) => table))]

/**
 * Counts that triggers maintain, and an index for the order of each list, which the engines use even for empty tables.
 * A count may have several rows on PostgreSQL (see `postgresTriggers`): readers add them.
 */
export const botCounts = ({ key, int64, counts, countTriggers }: Dialect): string => `
create table bot_counts (
  bot_id ${key} not null,
  kind ${key} not null,
  block ${int64} not null,
  n ${int64} not null${counts};
${counted
  .map(
    ({ table, kind, block }) => `insert into bot_counts select bot_id, kind, block, count(*) from (
  select bot_id, ${kind('t')} as kind, ${block('t')} as block from ${table} t) c
  where kind is not null group by bot_id, kind, block;`,
  )
  .join('\n')}

drop index deliveries_ended;
drop index deliveries_by_bot;
drop index deliveries_by_age;
create index deliveries_by_kind on deliveries (bot_id, (${deliveryKind('deliveries').replaceAll('deliveries.', '')}), update_id);
create index deliveries_by_age on deliveries (created_at, id);
drop index deliveries_due;
create index deliveries_due on deliveries (next_attempt_at, id) where status = 'failed' and ready = 0;
drop index updates_of_bots_by_age;
drop index delivery_attempts_failed;
drop index delivery_attempts_by_bot;
create index delivery_attempts_by_bot on delivery_attempts (bot_id, started_at, duration_ms);
create index applications_by_age on applications (created_at, id);
create index tokens_by_age on tokens (created_at, id);
create index tokens_active on tokens (application_id, expires_at) where revoked_at is null;
create index chats_by_bot on chats (bot_id, created_at, id);
create index templates_of_all_by_age on templates (created_at, id);
create index templates_by_any_external_id on templates (application_id, external_template_id, id);
${countTriggers}`

const ofRow = ({ kind, block }: Counted, row: string) =>
  `where bot_id = ${row}.bot_id and kind = ${kind(row)} and block = ${block(row)}`

/** Not `do update`, which may abort the statement: SQLite would copy each page before a change (sqlite/engine.ts). */
const added = (it: Counted, row: string) => `
  insert into bot_counts select ${row}.bot_id, ${it.kind(row)}, ${it.block(row)}, 0 where ${it.kind(row)} is not null
    on conflict do nothing;
  update bot_counts set n = n + 1 ${ofRow(it, row)};`

const removed = (it: Counted, row: string) => `
  update bot_counts set n = n - 1 ${ofRow(it, row)};
  delete from bot_counts ${ofRow(it, row)} and n = 0;`

export const sqliteTriggers = counted
  .map((counted, index) => {
    const on = (event: string, when: string, changes: string) => `
create trigger count_${index}_${event} after ${event} on ${counted.table} when ${when} begin${changes}
end;`
    const [before, after] = ['old', 'new'].map((row) => `(${counted.kind(row)}, ${counted.block(row)})`)
    return (
      on('insert', `${counted.kind('new')} is not null`, added(counted, 'new')) +
      on('delete', `${counted.kind('old')} is not null`, removed(counted, 'old')) +
      on('update', `${before} is not ${after}`, removed(counted, 'old') + added(counted, 'new'))
    )
  })
  .join('')

/**
 * One addition for each count that a statement changes, because a transaction that updates a row often reads all
 * versions of it. No transaction waits for a count: if another one has locked its row, it inserts another row. A
 * later addition joins two rows, so that a count has no more rows than concurrent transactions.
 */
export const postgresTriggers = `
create or replace function add_bot_count(bot text, of_kind text, at bigint, d bigint) returns void language plpgsql as $$
declare
  it record;
  kept tid;
begin
  for it in select ctid as place, n from bot_counts
    where bot_id = bot collate "C" and kind = of_kind collate "C" and block = at limit 2 for update skip locked
  loop
    d := d + it.n;
    if kept is null then kept := it.place; else delete from bot_counts where ctid = it.place; end if;
  end loop;
  if kept is null then insert into bot_counts values (bot, of_kind, at, d);
  elsif d = 0 then delete from bot_counts where ctid = kept;
  else update bot_counts set n = d where ctid = kept;
  end if;
end $$;
${[...new Set(counted.map(({ table }) => table))]
  .flatMap((table) => [
    postgresTrigger(table, 'insert', 'new'),
    postgresTrigger(table, 'delete', 'old'),
    postgresTrigger(table, 'update', 'new', 'old'),
  ])
  .join('')}`

/** Builds the SQL of a trigger. @param rows versions of the changed rows that the trigger sees */
function postgresTrigger(table: string, event: string, ...rows: readonly ('new' | 'old')[]): string {
  const of = counted.filter((it) => it.table === table)
  const changes = rows.flatMap((row) =>
    of.map(
      ({ kind, block }) =>
        `select bot_id, ${kind('t')} as kind, ${block('t')} as block, ${row === 'new' ? 1 : -1} as d from ${row}_rows t`,
    ),
  )
  const tables = rows.map((row) => `${row} table as ${row}_rows`)
  return `
create or replace function count_${table}_${event}() returns trigger language plpgsql as $$
declare
  it record;
begin
  for it in select bot_id, kind, block, sum(d) as d from (${changes.join(' union all ')}) c
    where kind is not null group by bot_id, kind, block having sum(d) <> 0
  loop
    perform add_bot_count(it.bot_id, it.kind, it.block, it.d::bigint);
  end loop;
  return null;
end $$;
create trigger count_${event} after ${event} on ${table} referencing ${tables.join(' ')}
  for each statement execute function count_${table}_${event}();`
}
