// The floor of P6 to P8: floor.js, plus the statements of redeem and issue in shared commits, and one decryption and
// encryption with the stored keys of a session.
import { createCipheriv, createDecipheriv, randomBytes, randomFillSync } from 'node:crypto'
import { vouchers } from '../../../src/contract/vouchers.js'
import { redemptionRecord, voucherRecord } from '../../../src/domain/voucher.js'
import { loadServerKey, makeServerPrivateKey } from '../../../src/secure/server/key.js'
import { createServerSession, describeServer } from '../../../src/secure/server/session.js'
import { MEDIA_TYPE, paths } from '../../../src/secure/suite.js'
import { addCall, app, db, hmac, newId, prepare, respond, routes, sha256, summary, templateId } from './floor.js'

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

function issue({ external_issue_id, recipient_user_id }, { key, fingerprint, requestId, tokenId }) {
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

function redeem({ credential }, { key, fingerprint, requestId, tokenId }) {
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

const begin = db.prepare('begin immediate')
const commit = db.prepare('commit')
let queue = []
let lastLength = 0
/** Commits the queued writes once their number has stopped growing, as the store does. */
function drain() {
  if (queue.length > lastLength && queue.length < 32) {
    lastLength = queue.length
    setImmediate(drain)
    return
  }
  const batch = queue
  queue = []
  lastLength = 0
  begin.run()
  const data = batch.map(({ run }) => run())
  commit.run()
  for (const [index, { sendData }] of batch.entries()) sendData(data[index])
}

/** Adds a call that writes, with its idempotency key. */
const addWrite = (endpoint, work) =>
  addCall(endpoint, (body, sendData, { path, headers, text, requestId, tokenId }) => {
    const call = { key: headers['idempotency-key'], fingerprint: sha256(path + text), requestId, tokenId }
    if (queue.push({ run: () => work(body, call), sendData }) === 1) setImmediate(drain)
  })
addWrite(vouchers.issue, issue)
addWrite(vouchers.redeem, redeem)

const serverKey = loadServerKey(makeServerPrivateKey(randomBytes))
const sessions = new Map()
const used = new Set()
const context = { allowedOrigins: ['*'], brand: 'platform', keyFor: () => serverKey, randomBytes }

function openSession(body) {
  const { session, response } = createServerSession({ body, origin: undefined }, { ...context, now: Date.now() })
  sessions.set(session.sid, session)
  return response
}

const pool = Buffer.alloc(8184)
let taken = pool.length
/** Takes 12 random bytes from a pool: a system call for each IV would take longer than the encryption. */
function randomIv() {
  if (taken === pool.length) {
    randomFillSync(pool)
    taken = 0
  }
  taken += 12
  return Buffer.from(pool.subarray(taken - 12, taken))
}

const gcm = { authTagLength: 16 }
const aadOf = ({ kid, sid, rid, ts }, direction) =>
  Buffer.from(`platform|v1|http|${direction}|${kid}|${sid}|${rid}|${ts}`)

function dispatch(text, send) {
  const envelope = JSON.parse(text)
  const { keyC2s, keyS2c } = sessions.get(envelope.sid)
  const sealed = Buffer.from(envelope.ciphertext, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyC2s, Buffer.from(envelope.iv, 'base64url'), gcm)
  decipher.setAAD(aadOf(envelope, 'c2s')).setAuthTag(sealed.subarray(-16))
  const plaintext = decipher.update(sealed.subarray(0, -16))
  decipher.final()
  const inner = JSON.parse(plaintext.toString())
  if (used.has(envelope.rid)) throw new Error('replayed')
  used.add(envelope.rid)
  respond(inner.path, inner.headers, inner.body, '', (status, requestId, body) => {
    const iv = randomIv()
    const cipher = createCipheriv('aes-256-gcm', keyS2c, iv, gcm).setAAD(aadOf(envelope, 's2c'))
    const headers = `{"content-type":"application/json; charset=utf-8","x-request-id":"${requestId}"}`
    const ciphertext = cipher.update(`{"status":${status},"headers":${headers},"body":${body}}`, 'utf8')
    cipher.final()
    const result = Buffer.concat([ciphertext, cipher.getAuthTag()]).toString('base64url')
    const { v, suite, kid, sid, rid, ts } = envelope
    const head = `{"v":${v},"suite":"${suite}","kid":"${kid}","sid":"${sid}","rid":"${rid}","ts":${ts}`
    send(200, requestId, `${head},"iv":"${iv.toString('base64url')}","ciphertext":"${result}"}`, MEDIA_TYPE)
  })
}

routes.set(paths.bootstrap, (_headers, _text, send) =>
  send(200, 'req', JSON.stringify(describeServer(serverKey, true, Date.now()))),
)
routes.set(paths.session, (_headers, text, send) => send(200, 'req', JSON.stringify(openSession(JSON.parse(text)))))
routes.set(paths.dispatch, (_headers, text, send) => dispatch(text, send))
