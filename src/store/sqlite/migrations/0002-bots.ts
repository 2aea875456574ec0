/**
 * The bot plane: keyed by bot, so that it stands beside the runtime plane's distribution by application.
 *
 * Checks of deliveries go by twos: for a longer list SQLite builds a set at each write of the column, which took a
 * third of the time of what a delivery writes.
 */
export const bots = `
create table bots (
  id text primary key,
  account_id text not null,
  name text not null,
  username text not null unique,
  review_status text not null check (review_status in ('pending', 'approved', 'rejected')),
  review_note text,
  status text not null check (status in ('inactive', 'active', 'disabled')),
  scopes text not null,
  token_prefix text,
  profile text not null,
  command_menus text not null,
  application_id text references applications (id),
  linked_at integer,
  submitted_at integer not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index bots_by_account on bots (account_id, created_at, id);
create index bots_by_application on bots (application_id) where application_id is not null;
create index bots_waiting on bots (submitted_at, id) where review_status = 'pending';

create table bot_tokens (
  token_hash text primary key,
  bot_id text not null references bots (id),
  created_at integer not null,
  revoked_at integer
) strict, without rowid;
create index bot_tokens_by_bot on bot_tokens (bot_id) where revoked_at is null;

create index templates_of_bots on templates (application_id, bot_id, created_at, id) where application_id = '';
create unique index templates_of_bots_by_external_id on templates (application_id, bot_id, external_template_id)
  where application_id = '' and status <> 'rejected';

create table chats (
  id text primary key,
  bot_id text not null references bots (id),
  user_id text not null,
  type text not null check (type in ('private', 'group')),
  blocked integer not null check (blocked in (0, 1)),
  last_message_id integer not null,
  created_at integer not null,
  unique (bot_id, user_id)
) strict;
create index chats_by_age on chats (created_at, id);

create table messages (
  chat_id text not null references chats (id),
  message_id integer not null,
  sent_at integer not null,
  from_bot integer not null check (from_bot in (0, 1)),
  text text not null,
  application_id text,
  voucher_id text,
  primary key (chat_id, message_id)
) strict, without rowid;
create unique index messages_by_voucher on messages (application_id, voucher_id) where voucher_id is not null;

create table update_queues (
  bot_id text primary key references bots (id),
  last_update_id integer not null,
  allowed_updates text
) strict, without rowid;

create table updates (
  bot_id text not null,
  update_id integer not null,
  type text not null,
  chat_id text,
  body text not null,
  created_at integer not null,
  pending integer not null check (pending in (0, 1)),
  primary key (bot_id, update_id)
) strict, without rowid;
create index updates_pending on updates (bot_id, update_id, created_at) where pending = 1;
create index updates_expiring on updates (created_at) where pending = 1;
create index updates_confirmed on updates (created_at) where body = '';
create index updates_of_bots_by_age on updates (bot_id, created_at);

create table webhooks (
  bot_id text primary key references bots (id),
  url text not null,
  origin text not null,
  secret text not null,
  old_secret text,
  old_secret_until integer,
  allowed_ips text not null,
  max_connections integer not null,
  failing integer not null check (failing in (0, 1)),
  ip_address text,
  last_error_at integer,
  last_error_message text,
  last_success_at integer,
  set_at integer not null
) strict;

create table deliveries (
  id text primary key,
  bot_id text not null,
  update_id integer not null,
  update_type text not null,
  chat_key text not null,
  status text not null check (status in ('pending', 'delivering') or status in ('delivered', 'failed')
    or status in ('dead_letter', 'cancelled')),
  cancel_reason text check (cancel_reason in ('dropped', 'webhook_deleted') or cancel_reason = 'expired'),
  attempt_count integer not null,
  manual_attempt_count integer not null,
  created_at integer not null,
  last_attempt_at integer,
  next_attempt_at integer,
  ready integer not null check (ready in (0, 1)),
  resume_status text check (resume_status in ('failed', 'dead_letter') or resume_status = 'delivered'),
  lease_until integer,
  delivered_at integer,
  last_status_code integer,
  last_error_code text,
  last_error_message text,
  last_duration_ms integer,
  unique (bot_id, update_id)
) strict;
create index deliveries_ready on deliveries (bot_id, update_id, chat_key) where ready = 1;
create index deliveries_ready_by_chat on deliveries (bot_id, chat_key, update_id) where ready = 1;
create index deliveries_due on deliveries (next_attempt_at) where status = 'failed' and ready = 0;
create index deliveries_leased on deliveries (bot_id, chat_key) where lease_until is not null;
create index deliveries_ended on deliveries (bot_id, status, created_at, id) where status in ('failed', 'dead_letter');
create index deliveries_by_bot on deliveries (bot_id, created_at, id);
create index deliveries_by_age on deliveries (created_at);

create table delivery_attempts (
  delivery_id text not null,
  number integer not null,
  bot_id text not null,
  manual integer not null check (manual in (0, 1)),
  started_at integer not null,
  duration_ms integer not null,
  status_code integer,
  error_code text,
  error_message text,
  primary key (delivery_id, number)
) strict, without rowid;
create index delivery_attempts_by_bot on delivery_attempts (bot_id, started_at);
create index delivery_attempts_failed on delivery_attempts (bot_id, started_at) where error_code is not null;

create table bot_calls (
  bot_id text not null,
  minute integer not null,
  method text not null,
  status integer not null,
  code text not null,
  calls integer not null,
  primary key (bot_id, minute, method, status, code)
) strict, without rowid;
create index bot_calls_by_age on bot_calls (minute);
`
