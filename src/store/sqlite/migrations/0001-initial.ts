/**
 * Keys of the runtime plane start with application_id, so that its rows spread by application.
 *
 * Tables of millions of long rows have a rowid: without one SQLite keeps whole rows in the inner pages of the tree too,
 * ten to a page, and they lie under six or seven levels.
 */
export const initial = `
create table credential_keys (
  key_id text primary key,
  key_check text not null,
  created_at integer not null
) strict;

create table applications (
  id text primary key,
  account_id text not null,
  name text not null,
  description text,
  status text not null check (status in ('active', 'disabled')),
  suspended integer not null check (suspended in (0, 1)),
  features text not null,
  allowed_origins text not null,
  secure_transport text not null check (secure_transport in ('optional', 'required')),
  created_at integer not null,
  updated_at integer not null
) strict;
create index applications_by_account on applications (account_id, created_at, id);

create table tokens (
  id text primary key,
  application_id text not null references applications (id),
  name text not null,
  token_hash text not null unique,
  token_prefix text not null,
  last4 text not null,
  scopes text not null,
  created_at integer not null,
  expires_at integer,
  last_used_at integer,
  revoked_at integer
) strict;
create index tokens_by_application on tokens (application_id, created_at, id);

create table templates (
  application_id text not null,
  id text not null,
  account_id text not null,
  bot_id text,
  external_template_id text not null,
  name text not null,
  type text not null,
  issuer_name text not null,
  fulfiller_name text not null,
  fulfillment_category text not null,
  acquisition_source text not null,
  validity text not null,
  issue_limit integer not null,
  issued_count integer not null check (issued_count between 0 and issue_limit),
  status text not null check (status in ('draft', 'reviewing', 'active', 'rejected')),
  rejection_code text,
  rejection_reason text,
  submitted_at integer,
  reviewed_at integer,
  description text,
  metadata text not null,
  created_at integer not null,
  updated_at integer not null,
  primary key (application_id, id)
) strict, without rowid;
create unique index templates_by_external_id on templates (application_id, external_template_id)
  where status <> 'rejected' and application_id <> '';
create index templates_by_age on templates (application_id, created_at, id);
create index templates_by_id on templates (id);
create index templates_waiting on templates (submitted_at, id) where status = 'reviewing';

create table vouchers (
  application_id text not null,
  id text not null,
  template_id text not null,
  external_issue_id text not null,
  recipient_user_id text not null,
  state text not null check (state in ('issued', 'redeemed')),
  valid_from integer not null,
  valid_until integer not null,
  code_hint text not null,
  key_id text not null,
  key_counter integer not null,
  redeem_code_hash text not null,
  qr_token_hash text not null,
  channel text not null check (channel in ('direct', 'bot')),
  bot_id text,
  issued_at integer not null,
  redeemed_at integer,
  redemption_id text,
  metadata text not null,
  updated_at integer not null,
  padding text not null,
  primary key (application_id, id),
  unique (application_id, template_id, external_issue_id),
  unique (application_id, redeem_code_hash),
  unique (application_id, qr_token_hash),
  check ((state = 'redeemed') = (redemption_id is not null))
) strict;

create table redemptions (
  application_id text not null,
  id text not null,
  voucher_id text not null,
  template_id text not null,
  external_issue_id text not null,
  recipient_user_id text not null,
  credential_type text not null check (credential_type in ('qr_token', 'redeem_code')),
  reference text,
  metadata text not null,
  redeemed_at integer not null,
  reversed_at integer,
  reversal_reason text,
  primary key (application_id, id)
) strict;

create table idempotency_keys (
  application_id text not null,
  idempotency_key text not null,
  fingerprint text not null,
  status integer not null,
  subject_id text not null,
  data text,
  created_at integer not null,
  expires_at integer,
  primary key (application_id, idempotency_key)
) strict;
create index idempotency_keys_by_expiry on idempotency_keys (expires_at) where expires_at is not null;
`
