/** SQL that differs between SQLite and PostgreSQL in the same schema. */
export interface Dialect {
  /** Type of text columns that are compared or sorted byte by byte. */
  readonly key: string
  readonly int64: string
  /** Suffix of `create table` for tables with a separate primary key index. */
  readonly rows: string
  /** Suffix for tables stored in the order of their primary key. */
  readonly byKey: string
  /** `rows` and `byKey` for tables whose rows change often. */
  readonly busyRows: string
  readonly busyByKey: string
  /** Tables and indexes of this engine alone. */
  readonly own: string
  /** End of the table of counts: its key, and how the engine stores it. */
  readonly counts: string
  readonly countTriggers: string
}

/**
 * Tables of both engines. Primary keys of vouchers and redemptions start with application_id, so that rows can be
 * distributed by application.
 *
 * Check constraints of deliveries use lists of two values: for a longer list SQLite builds a set at each write of the
 * column, which took a third of the write time of a delivery.
 */
export const initial = ({ key, int64, rows, byKey, busyRows, busyByKey, own }: Dialect): string => `
create table credential_keys (
  key_id ${key} primary key,
  key_check text not null,
  created_at ${int64} not null
)${rows};

create table applications (
  id ${key} primary key,
  account_id ${key} not null,
  name text not null,
  description text,
  status text not null check (status in ('active', 'disabled')),
  suspended integer not null check (suspended in (0, 1)),
  features text not null,
  allowed_origins text not null,
  secure_transport text not null check (secure_transport in ('optional', 'required')),
  created_at ${int64} not null,
  updated_at ${int64} not null
)${rows};
create index applications_by_account on applications (account_id, created_at, id);

create table tokens (
  id ${key} primary key,
  application_id ${key} not null references applications (id),
  name text not null,
  token_hash ${key} not null unique,
  token_prefix text not null,
  last4 text not null,
  scopes text not null,
  created_at ${int64} not null,
  expires_at ${int64},
  last_used_at ${int64},
  revoked_at ${int64}
)${rows};
create index tokens_by_application on tokens (application_id, created_at, id);

create table templates (
  application_id ${key} not null,
  id ${key} not null,
  account_id ${key} not null,
  bot_id ${key},
  external_template_id ${key} not null,
  name text not null,
  type text not null,
  issuer_name text not null,
  fulfiller_name text not null,
  fulfillment_category text not null,
  acquisition_source text not null,
  validity text not null,
  issue_limit ${int64} not null,
  issued_count ${int64} not null check (issued_count between 0 and issue_limit),
  status text not null check (status in ('draft', 'reviewing', 'active', 'rejected')),
  rejection_code text,
  rejection_reason text,
  submitted_at ${int64},
  reviewed_at ${int64},
  description text,
  metadata text not null,
  created_at ${int64} not null,
  updated_at ${int64} not null,
  primary key (application_id, id)
)${busyByKey};
create unique index templates_by_external_id on templates (application_id, external_template_id)
  where status <> 'rejected' and application_id <> '';
create index templates_by_age on templates (application_id, created_at, id);
create index templates_by_id on templates (id);
create index templates_waiting on templates (submitted_at, id) where status = 'reviewing';
create index templates_of_bots on templates (application_id, bot_id, created_at, id) where application_id = '';
create unique index templates_of_bots_by_external_id on templates (application_id, bot_id, external_template_id)
  where application_id = '' and status <> 'rejected';

create table vouchers (
  application_id ${key} not null,
  id ${key} not null,
  template_id ${key} not null,
  external_issue_id ${key} not null,
  recipient_user_id ${key} not null,
  state text not null check (state in ('issued', 'redeemed')),
  valid_from ${int64} not null,
  valid_until ${int64} not null,
  code_hint text not null,
  key_id text not null,
  key_counter integer not null,
  redeem_code_hash ${key} not null,
  qr_token_hash ${key} not null,
  channel text not null check (channel in ('direct', 'bot')),
  bot_id text,
  issued_at ${int64} not null,
  issue_request_id text not null,
  issue_idempotency_key text,
  issued_by text not null,
  redeemed_at ${int64},
  redemption_id text,
  metadata text not null,
  updated_at ${int64} not null,
  primary key (application_id, id),
  unique (application_id, template_id, external_issue_id),
  unique (application_id, redeem_code_hash),
  unique (application_id, qr_token_hash),
  check ((state = 'redeemed') = (redemption_id is not null))
)${busyRows};
create index vouchers_by_age on vouchers (issued_at, id);

create table redemptions (
  application_id ${key} not null,
  id ${key} not null,
  voucher_id ${key} not null,
  template_id text not null,
  external_issue_id text not null,
  recipient_user_id text not null,
  credential_type text not null check (credential_type in ('qr_token', 'redeem_code')),
  reference text,
  metadata text not null,
  redeemed_at ${int64} not null,
  redeem_request_id text not null,
  redeem_idempotency_key text not null,
  redeemed_by text not null,
  reversed_at ${int64},
  reversal_reason text,
  reverse_request_id text,
  reverse_idempotency_key text,
  reversed_by text,
  primary key (application_id, id)
)${rows};
create index redemptions_reversed on redemptions (application_id, voucher_id) where reversed_at is not null;

create table idempotency_keys (
  application_id ${key} not null,
  idempotency_key ${key} not null,
  fingerprint text not null,
  status integer not null,
  subject_id text not null,
  data text,
  created_at ${int64} not null,
  expires_at ${int64},
  primary key (application_id, idempotency_key)
)${rows};
create index idempotency_keys_by_expiry on idempotency_keys (expires_at) where expires_at is not null;

-- Tables of bots have keys by bot, independent of the distribution of vouchers by application.
create table bots (
  id ${key} primary key,
  account_id ${key} not null,
  name text not null,
  username ${key} not null unique,
  review_status text not null check (review_status in ('pending', 'approved', 'rejected')),
  review_note text,
  status text not null check (status in ('inactive', 'active', 'disabled')),
  scopes text not null,
  token_prefix text,
  profile text not null,
  command_menus text not null,
  application_id ${key} references applications (id),
  linked_at ${int64},
  submitted_at ${int64} not null,
  created_at ${int64} not null,
  updated_at ${int64} not null
)${rows};
create index bots_by_account on bots (account_id, created_at, id);
create index bots_by_application on bots (application_id) where application_id is not null;
create index bots_waiting on bots (submitted_at, id) where review_status = 'pending';

create table bot_tokens (
  token_hash ${key} primary key,
  bot_id ${key} not null references bots (id),
  created_at ${int64} not null,
  revoked_at ${int64}
)${byKey};
create index bot_tokens_by_bot on bot_tokens (bot_id) where revoked_at is null;

create table chats (
  id ${key} primary key,
  bot_id ${key} not null references bots (id),
  user_id ${key} not null,
  type text not null check (type in ('private', 'group')),
  blocked integer not null check (blocked in (0, 1)),
  last_message_id ${int64} not null,
  created_at ${int64} not null,
  unique (bot_id, user_id)
)${rows};
create index chats_by_age on chats (created_at, id);

create table messages (
  chat_id ${key} not null references chats (id),
  message_id ${int64} not null,
  sent_at ${int64} not null,
  from_bot integer not null check (from_bot in (0, 1)),
  text text not null,
  application_id ${key},
  voucher_id ${key},
  primary key (chat_id, message_id)
)${byKey};
create unique index messages_by_voucher on messages (application_id, voucher_id) where voucher_id is not null;

-- The last three columns mark changes to pending updates that are too many for one transaction (delivery/backlog.ts).
create table update_queues (
  bot_id ${key} primary key references bots (id),
  last_update_id ${int64} not null,
  allowed_updates text,
  confirmed_to ${int64},
  dropped_to ${int64},
  switched_to ${int64}
)${byKey};
create index update_queues_unsettled on update_queues (bot_id)
  where coalesce(confirmed_to, switched_to) is not null;

create table updates (
  bot_id ${key} not null,
  update_id ${int64} not null,
  type text not null,
  chat_id ${key},
  body text not null,
  created_at ${int64} not null,
  pending integer not null check (pending in (0, 1)),
  request_id ${key},
  primary key (bot_id, update_id)
)${byKey};
create index updates_by_request on updates (request_id) where request_id is not null;
create index updates_pending on updates (bot_id, update_id, created_at) where pending = 1;
create index updates_expiring on updates (created_at) where pending = 1;
create index updates_confirmed on updates (created_at) where body = '';
create index updates_of_bots_by_age on updates (bot_id, created_at);

create table webhooks (
  bot_id ${key} primary key references bots (id),
  url text not null,
  origin text not null,
  secret text not null,
  old_secret text,
  old_secret_until ${int64},
  allowed_ips text not null,
  max_connections integer not null,
  failing integer not null check (failing in (0, 1)),
  ip_address text,
  last_error_at ${int64},
  last_error_message text,
  last_success_at ${int64},
  set_at ${int64} not null
)${rows};

create table deliveries (
  id ${key} primary key,
  bot_id ${key} not null,
  update_id ${int64} not null,
  update_type text not null,
  chat_key ${key} not null,
  status text not null check (status in ('pending', 'delivering') or status in ('delivered', 'failed')
    or status in ('dead_letter', 'cancelled')),
  cancel_reason text check (cancel_reason in ('dropped', 'webhook_deleted') or cancel_reason = 'expired'),
  attempt_count integer not null,
  manual_attempt_count integer not null,
  created_at ${int64} not null,
  last_attempt_at ${int64},
  next_attempt_at ${int64},
  ready integer not null check (ready in (0, 1)),
  resume_status text check (resume_status in ('failed', 'dead_letter') or resume_status = 'delivered'),
  lease_until ${int64},
  delivered_at ${int64},
  last_status_code integer,
  last_error_code text,
  last_error_message text,
  last_duration_ms ${int64},
  unique (bot_id, update_id)
)${rows};
create index deliveries_ready on deliveries (bot_id, update_id, chat_key) where ready = 1;
create index deliveries_ready_by_chat on deliveries (bot_id, chat_key, update_id) where ready = 1;
create index deliveries_due on deliveries (next_attempt_at) where status = 'failed' and ready = 0;
create index deliveries_leased on deliveries (bot_id, chat_key) where lease_until is not null;
create index deliveries_ended on deliveries (bot_id, status, created_at, id) where status in ('failed', 'dead_letter');
create index deliveries_by_bot on deliveries (bot_id, created_at, id);
create index deliveries_by_age on deliveries (created_at);
create index deliveries_by_hand on deliveries (bot_id) where resume_status is not null;

create table delivery_attempts (
  delivery_id ${key} not null,
  number integer not null,
  bot_id ${key} not null,
  manual integer not null check (manual in (0, 1)),
  started_at ${int64} not null,
  duration_ms ${int64} not null,
  status_code integer,
  error_code text,
  error_message text,
  primary key (delivery_id, number)
)${byKey};
create index delivery_attempts_by_bot on delivery_attempts (bot_id, started_at);
create index delivery_attempts_failed on delivery_attempts (bot_id, started_at) where error_code is not null;

create table bot_calls (
  bot_id ${key} not null,
  minute ${int64} not null,
  method ${key} not null,
  status integer not null,
  code ${key} not null,
  calls ${int64} not null,
  primary key (bot_id, minute, method, status, code)
)${byKey};
create index bot_calls_by_age on bot_calls (minute);
${own}`
