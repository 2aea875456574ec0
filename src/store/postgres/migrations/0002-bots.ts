/** The bot plane: keyed by bot, so that it stands beside the runtime plane's distribution by application. */
export const bots = `
create table bots (
  id text collate "C" primary key,
  account_id text collate "C" not null,
  name text not null,
  username text collate "C" not null unique,
  review_status text not null check (review_status in ('pending', 'approved', 'rejected')),
  review_note text,
  status text not null check (status in ('inactive', 'active', 'disabled')),
  scopes text not null,
  token_prefix text,
  profile text not null,
  command_menus text not null,
  application_id text collate "C" references applications (id),
  linked_at bigint,
  submitted_at bigint not null,
  created_at bigint not null,
  updated_at bigint not null
);
create index bots_by_account on bots (account_id, created_at, id);
create index bots_by_application on bots (application_id) where application_id is not null;
create index bots_waiting on bots (submitted_at, id) where review_status = 'pending';

create table bot_tokens (
  token_hash text collate "C" primary key,
  bot_id text collate "C" not null references bots (id),
  created_at bigint not null,
  revoked_at bigint
);
create index bot_tokens_by_bot on bot_tokens (bot_id) where revoked_at is null;

create index templates_of_bots on templates (application_id, bot_id, created_at, id) where application_id = '';
create unique index templates_of_bots_by_external_id on templates (application_id, bot_id, external_template_id)
  where application_id = '' and status <> 'rejected';

create table chats (
  id text collate "C" primary key,
  bot_id text collate "C" not null references bots (id),
  user_id text collate "C" not null,
  type text not null check (type in ('private', 'group')),
  blocked integer not null check (blocked in (0, 1)),
  last_message_id bigint not null,
  created_at bigint not null,
  unique (bot_id, user_id)
);
create index chats_by_age on chats (created_at, id);

create table messages (
  chat_id text collate "C" not null references chats (id),
  message_id bigint not null,
  sent_at bigint not null,
  from_bot integer not null check (from_bot in (0, 1)),
  text text not null,
  application_id text collate "C",
  voucher_id text collate "C",
  primary key (chat_id, message_id)
);
create unique index messages_by_voucher on messages (application_id, voucher_id) where voucher_id is not null;

create table update_queues (
  bot_id text collate "C" primary key references bots (id),
  last_update_id bigint not null,
  allowed_updates text
);

create table updates (
  bot_id text collate "C" not null,
  update_id bigint not null,
  type text not null,
  chat_id text collate "C",
  body text not null,
  created_at bigint not null,
  pending integer not null check (pending in (0, 1)),
  primary key (bot_id, update_id)
);
create index updates_pending on updates (bot_id, update_id, created_at) where pending = 1;
create index updates_expiring on updates (created_at) where pending = 1;
create index updates_confirmed on updates (created_at) where body = '';
create index updates_of_bots_by_age on updates (bot_id, created_at);

create table webhooks (
  bot_id text collate "C" primary key references bots (id),
  url text not null,
  origin text not null,
  secret text not null,
  old_secret text,
  old_secret_until bigint,
  allowed_ips text not null,
  max_connections integer not null,
  failing integer not null check (failing in (0, 1)),
  ip_address text,
  last_error_at bigint,
  last_error_message text,
  last_success_at bigint,
  set_at bigint not null
);

create table deliveries (
  id text collate "C" primary key,
  bot_id text collate "C" not null,
  update_id bigint not null,
  update_type text not null,
  chat_key text collate "C" not null,
  status text not null check (status in ('pending', 'delivering', 'delivered', 'failed', 'dead_letter', 'cancelled')),
  cancel_reason text check (cancel_reason in ('dropped', 'webhook_deleted', 'expired')),
  attempt_count integer not null,
  manual_attempt_count integer not null,
  created_at bigint not null,
  last_attempt_at bigint,
  next_attempt_at bigint,
  ready integer not null check (ready in (0, 1)),
  resume_status text check (resume_status in ('failed', 'dead_letter', 'delivered')),
  lease_until bigint,
  delivered_at bigint,
  last_status_code integer,
  last_error_code text,
  last_error_message text,
  last_duration_ms bigint,
  unique (bot_id, update_id)
);
create index deliveries_ready on deliveries (bot_id, update_id, chat_key) where ready = 1;
create index deliveries_ready_by_chat on deliveries (bot_id, chat_key, update_id) where ready = 1;
create index deliveries_due on deliveries (next_attempt_at) where status = 'failed' and ready = 0;
create index deliveries_leased on deliveries (bot_id, chat_key) where lease_until is not null;
create index deliveries_ended on deliveries (bot_id, status, created_at, id) where status in ('failed', 'dead_letter');
create index deliveries_by_bot on deliveries (bot_id, created_at, id);
create index deliveries_by_age on deliveries (created_at);

create table delivery_attempts (
  delivery_id text collate "C" not null,
  number integer not null,
  bot_id text collate "C" not null,
  manual integer not null check (manual in (0, 1)),
  started_at bigint not null,
  duration_ms bigint not null,
  status_code integer,
  error_code text,
  error_message text,
  primary key (delivery_id, number)
);
create index delivery_attempts_by_bot on delivery_attempts (bot_id, started_at);
create index delivery_attempts_failed on delivery_attempts (bot_id, started_at) where error_code is not null;

create table bot_calls (
  bot_id text collate "C" not null,
  minute bigint not null,
  method text collate "C" not null,
  status integer not null,
  code text collate "C" not null,
  calls bigint not null,
  primary key (bot_id, minute, method, status, code)
);
create index bot_calls_by_age on bot_calls (minute);

-- Who polls for a bot, in whichever process: a newer poll ends the older one. Times in true time.
create unlogged table open_polls (
  bot_id text collate "C" primary key,
  holder text not null,
  until bigint not null
);
`
