// The floor of P5 to P8: only what verify, redeem, issue and an encrypted verify cannot do without, written straight.
import { createCipheriv, createDecipheriv, randomBytes, randomFillSync } from 'node:crypto'
import { createServer } from 'node:http'
import { Compile } from 'typebox/compile'
import { vouchers as contract } from '../../../src/contract/vouchers.js'
import { loadServerKey, makeServerPrivateKey } from '../../../src/secure/server/key.js'
import { createServerSession, describeServer } from '../../../src/secure/server/session.js'
import { MEDIA_TYPE, paths } from '../../../src/secure/suite.js'
import * as store from './floor-store.js'
import { underTest } from './under-test.js'

const begin = store.db.prepare('begin immediate')
const commit = store.db.prepare('commit')
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
  const data = batch.map(({ work, body, call }) => work(body, call))
  commit.run()
  for (const [index, { send }] of batch.entries()) send(data[index])
}

const routeOf = (name) => {
  const { path, status, body } = contract[name]
  return [path, { work: store[name], status, validator: Compile(body), writes: name !== 'verify' }]
}
const routes = new Map(['verify', 'issue', 'redeem'].map(routeOf))
const callers = new Map()

function respond(path, headers, body, text, send) {
  const { work, status, validator, writes } = routes.get(path)
  const tokenHash = store.sha256(headers.authorization.slice(7))
  if (!callers.has(tokenHash)) callers.set(tokenHash, store.caller.get([tokenHash]))
  const row = callers.get(tokenHash)
  if (row.revoked_at !== null || row.status !== 'active' || !validator.Check(body)) throw new Error(path)
  const requestId = store.newId('req')
  const sendData = (data) => send(status, requestId, JSON.stringify({ success: true, data, requestId }))
  if (!writes) return sendData(work(body))
  const call = {
    key: headers['idempotency-key'],
    fingerprint: store.sha256(path + text),
    requestId,
    tokenId: row.token_id,
  }
  if (queue.push({ work, body, call, send: sendData }) === 1) setImmediate(drain)
}

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

function dispatch(envelope, send) {
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
    const text = Buffer.concat([ciphertext, cipher.getAuthTag()]).toString('base64url')
    const { v, suite, kid, sid, rid, ts } = envelope
    const head = `{"v":${v},"suite":"${suite}","kid":"${kid}","sid":"${sid}","rid":"${rid}","ts":${ts}`
    send(200, requestId, `${head},"iv":"${iv.toString('base64url')}","ciphertext":"${text}"}`)
  })
}

const server = createServer((request, response) => {
  const send = (status, requestId, body) => {
    const type = request.url === paths.dispatch ? MEDIA_TYPE : 'application/json; charset=utf-8'
    const headers = { 'x-request-id': requestId, 'cache-control': 'no-store', 'content-type': type }
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
  }
  const pieces = []
  request.on('data', (piece) => pieces.push(piece))
  request.on('end', () => {
    const text = pieces.join('')
    const { url } = request
    if (url === paths.bootstrap) send(200, 'req', JSON.stringify(describeServer(serverKey, true, Date.now())))
    else if (url === paths.session) send(200, 'req', JSON.stringify(openSession(JSON.parse(text))))
    else if (url === paths.dispatch) dispatch(JSON.parse(text), send)
    else respond(url, request.headers, JSON.parse(text), text, send)
  })
})
server.listen(0, '127.0.0.1', () => {
  const { token, templateId } = store
  underTest({ baseUrl: `http://127.0.0.1:${server.address().port}`, token, templateId }, () => store.close())
})
