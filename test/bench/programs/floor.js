// The floor of P5: does only what a verify must, written straight, on an equal database with the SQL of the store
// (floor.test.ts). floor-plus.js adds what issue, redeem and an encrypted verify must.
import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { Compile } from 'typebox/compile'
import { vouchers } from '../../../src/contract/vouchers.js'
import { formatInstant } from '../../../src/domain/time.js'
import { voucherRecord } from '../../../src/domain/voucher.js'
import { prepareStatement } from '../../../src/store/sqlite/engine.js'
import { closeSqliteFile, openSqliteFile } from '../../../src/store/sqlite/open.js'
import { underTest } from './under-test.js'

const file = join(process.argv[2], 'floor.db')
export const db = openSqliteFile(file)
export const prepare = (sql) => prepareStatement(db, sql)
export const sha256 = (text) => hash('sha256', text, 'base64url')
const token = 'sop_floor'
export const app = 'app_01KAJ3XQ8Y7M2N4P6R8T0V2W4X'
export const templateId = 'tpl_01KAJ3XQ8Y7M2N4P6R8T0V2W4X'
db.exec(`insert into applications values ('${app}', 'acc', 'Floor', null, 'active', 0, '[]', '["*"]', 'optional', 0, 0);
  insert into tokens values ('tok_01KAJ3XQ8Y7M2N4P6R8T0V2W4X', '${app}', 'floor', '${sha256(token)}', 'sop_', 'loor',
    '["vouchers:issue","vouchers:verify","vouchers:redeem"]', 0, null, null, null);
  insert into templates (application_id, id, account_id, external_template_id, name, type, issuer_name, fulfiller_name,
    fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status, metadata, created_at, updated_at)
  values ('${app}', '${templateId}', 'acc', 'bench', 'One coffee', 'exchange', 'Corner Cafe', 'Corner Cafe',
    'offline_service', 'campaign_reward', '{"type":"relative","durationDays":30}', 1000000000, 0, 'active', '{}', 0, 0)`)

const caller = prepare(`select t.id as token_id, t.scopes, t.expires_at, t.revoked_at,
  a.id as application_id, a.account_id, a.status, a.suspended, a.features, a.secure_transport, a.allowed_origins
  from tokens t join applications a on a.id = t.application_id where t.token_hash = $1`)
const summaryOf =
  prepare(`select external_template_id, name, type, issuer_name, fulfiller_name, fulfillment_category from templates
  where application_id = $1 and id = $2`)
const shown =
  prepare(`select application_id, id, template_id, external_issue_id, recipient_user_id, state, valid_from, valid_until,
  code_hint, channel, bot_id, issued_at, redeemed_at, redemption_id, metadata, updated_at
  from vouchers where application_id = $1 and redeem_code_hash = $2`)
const pads = [0x36, 0x5c].map((byte) => Buffer.alloc(64, byte))
const padded = (pad, text, from, to) => hash('sha256', Buffer.concat([pad, Buffer.from(text, from)]), to)
export const hmac = (text) => padded(pads[1], padded(pads[0], text, 'utf8', 'binary'), 'binary', 'base64url')
let ids = 0
export const newId = (prefix) => `${prefix}_${Date.now().toString(36)}${String(ids++).padStart(18, '0')}`
export const summary = summaryOf.get([app, templateId])

function verify({ credential }) {
  const row = shown.get([app, hmac(`redeem_code:${credential.value}`)])
  const now = Date.now()
  const voucher = voucherRecord(row, summary, now)
  return { redeemable: voucher.redeemable, reason: null, voucher, checkedAt: formatInstant(now) }
}

const calls = new Map()
const callers = new Map()

/** Checks the credential and the body of a call, and passes its data to `send` in the envelope. */
export function respond(path, headers, body, text, send) {
  const { work, status, validator } = calls.get(path)
  const tokenHash = sha256(headers.authorization.slice(7))
  if (!callers.has(tokenHash)) callers.set(tokenHash, caller.get([tokenHash]))
  const { revoked_at, status: applicationStatus, token_id: tokenId } = callers.get(tokenHash)
  if (revoked_at !== null || applicationStatus !== 'active' || !validator.Check(body)) throw new Error(path)
  const requestId = newId('req')
  const sendData = (data) => send(status, requestId, JSON.stringify({ success: true, data, requestId }))
  work(body, sendData, { path, headers, text, requestId, tokenId })
}

/** By path, what a request does with its headers, the text of its body, and `send`. */
export const routes = new Map()

/** @param work gets the body, a function that sends `data`, and the facts of the call */
export function addCall({ path, status, body }, work) {
  calls.set(path, { work, status, validator: Compile(body) })
  routes.set(path, (headers, text, send) => respond(path, headers, JSON.parse(text), text, send))
}

addCall(vouchers.verify, (body, sendData) => sendData(verify(body)))

// Requests of one tick are one batch, and a body that has arrived is read without the events of a stream.
const batch = []
const runBatch = () => {
  for (const run of batch.splice(0)) run()
}

const server = createServer((request, response) => {
  const send = (status, requestId, body, type = 'application/json; charset=utf-8') => {
    const headers = { 'x-request-id': requestId, 'cache-control': 'no-store', 'content-type': type }
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  }
  const run = () => {
    if (!request.complete) setImmediate(run)
    else routes.get(request.url)(request.headers, String(request.read()), send)
  }
  if (batch.push(run) === 1) setImmediate(runBatch)
})
server.listen(0, '127.0.0.1', () => {
  const baseUrl = `http://127.0.0.1:${server.address().port}`
  underTest({ baseUrl, token, templateId }, () => closeSqliteFile(db, file))
})
