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
  padding text not null,
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
-- Of redemptions that share a commit, at most one takes a voucher (store.ts, Shared).
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

-- A crash may lose a session and the marks of its envelopes, both or none (DECISIONS.md#replay-marks).
create unlogged table secure_sessions (
  sid text collate "C" primary key,
  sealed text not null,
  expires_at bigint not null,
  rids integer not null
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
`
