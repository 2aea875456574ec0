/**
 * Keys of the runtime plane start with application_id, so that its rows spread by application; nothing refers across.
 * Text that is compared or sorted is bytes, as in SQLite: `collate "C"`. Rows that change often leave room in their
 * pages, so that no index has to follow them.
 */
export const initial = `
create table credential_keys (
  key_id text collate "C" primary key,
  key_check text not null,
  created_at bigint not null
);

create table applications (
  id text collate "C" primary key,
  account_id text collate "C" not null,
  name text not null,
  description text,
  status text not null check (status in ('active', 'disabled')),
  suspended integer not null check (suspended in (0, 1)),
  features text not null,
  allowed_origins text not null,
  secure_transport text not null check (secure_transport in ('optional', 'required')),
  created_at bigint not null,
  updated_at bigint not null
);
create index applications_by_account on applications (account_id, created_at, id);

create table tokens (
  id text collate "C" primary key,
  application_id text collate "C" not null references applications (id),
  name text not null,
  token_hash text collate "C" not null unique,
  token_prefix text not null,
  last4 text not null,
  scopes text not null,
  created_at bigint not null,
  expires_at bigint,
  last_used_at bigint,
  revoked_at bigint
);
create index tokens_by_application on tokens (application_id, created_at, id);

create table templates (
  application_id text collate "C" not null,
  id text collate "C" not null,
  account_id text collate "C" not null,
  bot_id text collate "C",
  external_template_id text collate "C" not null,
  name text not null,
  type text not null,
  issuer_name text not null,
  fulfiller_name text not null,
  fulfillment_category text not null,
  acquisition_source text not null,
  validity text not null,
  issue_limit bigint not null,
  issued_count bigint not null check (issued_count between 0 and issue_limit),
  status text not null check (status in ('draft', 'reviewing', 'active', 'rejected')),
  rejection_code text,
  rejection_reason text,
  submitted_at bigint,
  reviewed_at bigint,
  description text,
  metadata text not null,
  created_at bigint not null,
  updated_at bigint not null,
  primary key (application_id, id)
) with (fillfactor = 50);
create unique index templates_by_external_id on templates (application_id, external_template_id)
  where status <> 'rejected' and application_id <> '';
create index templates_by_age on templates (application_id, created_at, id);
create index templates_by_id on templates (id);
create index templates_waiting on templates (submitted_at, id) where status = 'reviewing';
create index templates_of_bots on templates (application_id, bot_id, created_at, id) where application_id = '';
create unique index templates_of_bots_by_external_id on templates (application_id, bot_id, external_template_id)
  where application_id = '' and status <> 'rejected';

create table vouchers (
  application_id text collate "C" not null,
  id text collate "C" not null,
  template_id text collate "C" not null,
  external_issue_id text collate "C" not null,
  recipient_user_id text collate "C" not null,
  state text not null check (state in ('issued', 'redeemed')),
  valid_from bigint not null,
  valid_until bigint not null,
  code_hint text not null,
  key_id text not null,
  key_counter integer not null,
  redeem_code_hash text collate "C" not null,
  qr_token_hash text collate "C" not null,
  channel text not null check (channel in ('direct', 'bot')),
  bot_id text,
  issued_at bigint not null,
  redeemed_at bigint,
  redemption_id text,
  metadata text not null,
  updated_at bigint not null,
  primary key (application_id, id),
  unique (application_id, template_id, external_issue_id),
  unique (application_id, redeem_code_hash),
  unique (application_id, qr_token_hash),
  check ((state = 'redeemed') = (redemption_id is not null))
) with (fillfactor = 85);

create table redemptions (
  application_id text collate "C" not null,
  id text collate "C" not null,
  voucher_id text collate "C" not null,
  template_id text not null,
  external_issue_id text not null,
  recipient_user_id text not null,
  credential_type text not null check (credential_type in ('qr_token', 'redeem_code')),
  reference text,
  metadata text not null,
  redeemed_at bigint not null,
  reversed_at bigint,
  reversal_reason text,
  primary key (application_id, id)
);
-- Of redemptions that share a commit, at most one takes a voucher (store.ts, GroupCommit).
create unique index redemptions_in_force on redemptions (application_id, voucher_id) where reversed_at is null;

create table idempotency_keys (
  application_id text collate "C" not null,
  idempotency_key text collate "C" not null,
  fingerprint text not null,
  status integer not null,
  subject_id text not null,
  data text,
  created_at bigint not null,
  expires_at bigint,
  primary key (application_id, idempotency_key)
);
create index idempotency_keys_by_expiry on idempotency_keys (expires_at) where expires_at is not null;

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

-- The bot plane is keyed by bot, so that it stands beside the runtime plane's distribution by application.
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

-- The last three columns mark changes to pending updates that are too many for one transaction (delivery/backlog.ts).
create table update_queues (
  bot_id text collate "C" primary key references bots (id),
  last_update_id bigint not null,
  allowed_updates text,
  confirmed_to bigint,
  dropped_to bigint,
  switched_to bigint
);
create index update_queues_unsettled on update_queues (bot_id)
  where coalesce(confirmed_to, switched_to) is not null;

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
create index deliveries_by_hand on deliveries (bot_id) where resume_status is not null;

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
