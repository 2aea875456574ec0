// The statements of verify, issue and redeem for floor.js, written straight: SQL texts are those of the store
// (floor.test.ts), on an equal database.
import { hash } from 'node:crypto'
import { join } from 'node:path'
import process from 'node:process'
import { formatInstant } from '../../../src/domain/time.js'
import { redemptionRecord, voucherRecord } from '../../../src/domain/voucher.js'
import { prepareStatement } from '../../../src/store/sqlite/engine.js'
import { closeSqliteFile, openSqliteFile } from '../../../src/store/sqlite/open.js'

const file = join(process.argv[2], 'floor.db')
export const db = openSqliteFile(file)
export const sha256 = (text) => hash('sha256', text, 'base64url')
export const token = 'sop_floor'
const app = 'app_01KAJ3XQ8Y7M2N4P6R8T0V2W4X'
export const templateId = 'tpl_01KAJ3XQ8Y7M2N4P6R8T0V2W4X'
db.exec(`insert into applications values ('${app}', 'acc', 'Floor', null, 'active', 0, '[]', '["*"]', 'optional', 0, 0);
  insert into tokens values ('tok_01KAJ3XQ8Y7M2N4P6R8T0V2W4X', '${app}', 'floor', '${sha256(token)}', 'sop_', 'loor',
    '["vouchers:issue","vouchers:verify","vouchers:redeem"]', 0, null, null, null);
  insert into templates (application_id, id, account_id, external_template_id, name, type, issuer_name, fulfiller_name,
    fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status, metadata, created_at, updated_at)
  values ('${app}', '${templateId}', 'acc', 'bench', 'One coffee', 'exchange', 'Corner Cafe', 'Corner Cafe',
    'offline_service', 'campaign_reward', '{"type":"relative","durationDays":30}', 1000000000, 0, 'active', '{}', 0, 0)`)

const prepare = (sql) => prepareStatement(db, sql)
export const caller = prepare(`select t.id as token_id, t.scopes, t.expires_at, t.revoked_at,
  a.id as application_id, a.account_id, a.status, a.suspended, a.features, a.secure_transport, a.allowed_origins
  from tokens t join applications a on a.id = t.application_id where t.token_hash = $1`)
const summaryOf =
  prepare(`select external_template_id, name, type, issuer_name, fulfiller_name, fulfillment_category from templates
  where application_id = $1 and id = $2`)
const shown =
  prepare(`select application_id, id, template_id, external_issue_id, recipient_user_id, state, valid_from, valid_until,
  code_hint, channel, bot_id, issued_at, redeemed_at, redemption_id, metadata, updated_at
  from vouchers where application_id = $1 and redeem_code_hash = $2`)
const record = prepare('select * from idempotency_keys where application_id = $1 and idempotency_key = $2')
const template = prepare(
  'select status, validity, issue_limit, issued_count from templates where application_id = $1 and id = $2',
)
const insertVoucher = prepare(`insert into vouchers (application_id, id, template_id, external_issue_id,
  recipient_user_id, state, valid_from, valid_until, code_hint, key_id, key_counter, redeem_code_hash, qr_token_hash,
  channel, bot_id, issued_at, issue_request_id, issue_idempotency_key, issued_by, redeemed_at, redemption_id, metadata,
  updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
  $22, $23) on conflict do nothing`)
const countIssued = prepare(
  'update templates set issued_count = issued_count + 1 where application_id = $1 and id = $2',
)
const saveRecord = prepare(`insert into idempotency_keys (application_id, idempotency_key, fingerprint, status,
  subject_id, data, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (application_id, idempotency_key) do update set fingerprint = excluded.fingerprint,
  status = excluded.status, subject_id = excluded.subject_id, data = excluded.data, created_at = excluded.created_at,
  expires_at = excluded.expires_at where idempotency_keys.expires_at <= excluded.created_at`)
const linkedBots = prepare(`select q.bot_id, q.allowed_updates from bots b join update_queues q on q.bot_id = b.id
  where b.application_id = $1 order by b.id`)
const redeemable =
  prepare(`select redeem_code_hash as hash, id, template_id, external_issue_id, recipient_user_id, state, valid_from,
  valid_until, code_hint, redeemed_at, redemption_id from vouchers where application_id = $1 and redeem_code_hash = $2`)
const insertRedemption = prepare(`insert into redemptions (application_id, id, voucher_id, template_id,
  external_issue_id, recipient_user_id, credential_type, reference, metadata, redeemed_at, redeem_request_id,
  redeem_idempotency_key, redeemed_by, reversed_at, reversal_reason, reverse_request_id, reverse_idempotency_key,
  reversed_by) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`)
const redeemed = prepare(`update vouchers set state = 'redeemed', redeemed_at = $3, redemption_id = $4, updated_at = $3
  where application_id = $1 and redeem_code_hash = $2`)

const pads = [0x36, 0x5c].map((byte) => Buffer.alloc(64, byte))
const padded = (pad, text, from, to) => hash('sha256', Buffer.concat([pad, Buffer.from(text, from)]), to)
const hmac = (text) => padded(pads[1], padded(pads[0], text, 'utf8', 'binary'), 'binary', 'base64url')
let ids = 0
export const newId = (prefix) => `${prefix}_${Date.now().toString(36)}${String(ids++).padStart(18, '0')}`
const summary = summaryOf.get([app, templateId])

export function verify({ credential }) {
  const row = shown.get([app, hmac(`redeem_code:${credential.value}`)])
  const now = Date.now()
  const voucher = voucherRecord(row, summary, now)
  return { redeemable: voucher.redeemable, reason: null, voucher, checkedAt: formatInstant(now) }
}

export function issue({ external_issue_id, recipient_user_id }, { key, fingerprint, requestId, tokenId }) {
  const now = Date.now()
  const id = newId('vch')
  const credentials = ['redeem_code', 'qr_token'].map((type) => ({ type, value: hmac(`${type}:0:${id}`) }))
  const [redeem_code_hash, qr_token_hash] = credentials.map(({ type, value }) => hmac(`${type}:${value}`))
  const row = {
    ...{ application_id: app, id, template_id: templateId, external_issue_id, recipient_user_id, state: 'issued' },
    ...{ valid_from: now, valid_until: now + 2_592_000_000, code_hint: credentials[0].value.slice(-4) },
    ...{ key_id: 'key', key_counter: 0, redeem_code_hash, qr_token_hash, channel: 'direct', bot_id: null },
    ...{ issued_at: now, issue_request_id: requestId, issue_idempotency_key: key, issued_by: tokenId },
    ...{ redeemed_at: null, redemption_id: null, metadata: '{}', updated_at: now },
  }
  if (record.get([app, key]) || template.get([app, templateId]).status !== 'active') throw new Error(`not new: ${key}`)
  insertVoucher.run(Object.values(row))
  countIssued.run([app, templateId])
  saveRecord.run([app, key, fingerprint, 201, id, null, now, now + 86_400_000])
  linkedBots.all([app])
  return { ...voucherRecord(row, summary, now), credentials }
}

export function redeem({ credential }, { key, fingerprint, requestId, tokenId }) {
  const now = Date.now()
  const id = newId('rdm')
  const hashed = hmac(`redeem_code:${credential.value}`)
  if (record.get([app, key])) throw new Error(`not new: ${key}`)
  const voucher = redeemable.get([app, hashed])
  if (voucher.state !== 'issued' || voucher.valid_until <= now) throw new Error(`not redeemable: ${voucher.id}`)
  const { external_issue_id, recipient_user_id } = voucher
  const row = {
    ...{ application_id: app, id, voucher_id: voucher.id, template_id: templateId, external_issue_id },
    ...{ recipient_user_id, credential_type: 'redeem_code', reference: null, metadata: '{}', redeemed_at: now },
    ...{ redeem_request_id: requestId, redeem_idempotency_key: key, redeemed_by: tokenId, reversed_at: null },
    ...{ reversal_reason: null, reverse_request_id: null, reverse_idempotency_key: null, reversed_by: null },
  }
  insertRedemption.run(Object.values(row))
  redeemed.run([app, hashed, now, id])
  saveRecord.run([app, key, fingerprint, 200, id, null, now, null])
  linkedBots.all([app])
  return redemptionRecord(row, { ...voucher, state: 'redeemed' }, now)
}

export const close = () => closeSqliteFile(db, file)
