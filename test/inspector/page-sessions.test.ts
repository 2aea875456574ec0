import { createHash, createHmac } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { PageSessions, type SessionStorage } from '../../src/inspector/page-sessions.js'
import { seededRandom } from '../support/server/app.js'

const HOUR_MS = 3_600_000

class Connection extends EventEmitter {
  destroyed = false
  readableEnded = false

  /** The client ends its side; the socket stays half-open. */
  end(): void {
    this.readableEnded = true
    this.emit('end')
  }

  close(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function pageSessions() {
  const clock = { now: 1_000 }
  const sessions = new PageSessions(seededRandom('pages'), () => clock.now, { key: 'key' })
  /** Whether a token is accepted on a connection that closes afterwards. */
  const accepts = (token: string) => {
    const connection = new Connection()
    const isKnown = sessions.use(token, connection)
    connection.close()
    return isKnown
  }
  const newToken = () => sessions.exchange(sessions.newTicket().secret)?.token as string
  return { clock, sessions, accepts, newToken }
}

test('ticket can be exchanged for one token, once', { tags: 'page/2' }, () => {
  const { sessions, accepts } = pageSessions()
  const { secret } = sessions.newTicket()
  const token = sessions.exchange(secret)?.token as string
  expect(accepts(token)).toBe(true)
  expect(sessions.exchange(secret)).toBeUndefined()
  expect(token).not.toBe(secret)
})

test('ticket and token are 32 random bytes each, and differ', () => {
  const { sessions, accepts } = pageSessions()
  const { secret } = sessions.newTicket()
  expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  expect(accepts(secret)).toBe(false)
  const token = sessions.exchange(secret)?.token as string
  expect(Buffer.from(token, 'base64url')).toHaveLength(32)
  expect(sessions.exchange(token)).toBeUndefined()
})

test('ticket expires after two minutes, but its token does not', { tags: 'page/2' }, () => {
  const { sessions, clock, accepts } = pageSessions()
  const [early, late] = [sessions.newTicket(), sessions.newTicket()]
  clock.now = early.expiresAt - 1
  const token = sessions.exchange(early.secret)?.token as string
  clock.now = late.expiresAt
  expect(late.expiresAt).toBe(121_000)
  expect(sessions.exchange(late.secret)).toBeUndefined()
  expect(accepts(token)).toBe(true)
})

test('token ends after an hour without use, whether or not it was used before', { tags: 'page/3' }, () => {
  const { clock, accepts, newToken } = pageSessions()
  const [unused, used] = [newToken(), newToken()]
  clock.now += HOUR_MS - 1
  expect(accepts(used)).toBe(true)
  clock.now += 1
  expect([accepts(unused), accepts(used)]).toEqual([false, true])
  clock.now += HOUR_MS
  expect(accepts(used)).toBe(false)
  clock.now -= HOUR_MS
  expect(accepts(used)).toBe(false)
})

test.each(['end', 'close'] as const)('token lasts while its connection is open, and an hour after its %s', (how) => {
  const { sessions, clock, accepts, newToken } = pageSessions()
  const [token, other] = [newToken(), newToken()]
  const stream = new Connection()
  expect([sessions.use(token, stream), sessions.use(token, stream)]).toEqual([true, true])
  expect(stream.listenerCount('close')).toBe(1)
  clock.now += 24 * HOUR_MS
  expect([accepts(token), accepts(other)]).toEqual([true, false])
  clock.now += 24 * HOUR_MS
  stream[how]()
  clock.now += HOUR_MS - 1
  expect(accepts(token)).toBe(true)
  clock.now += HOUR_MS - 1
  // The server closes a half-open connection later, which does not count as use.
  stream.close()
  clock.now += 1
  expect(accepts(token)).toBe(false)
})

test.each(['end', 'close'] as const)('token does not last for a connection after its %s', (how) => {
  const { sessions, clock, accepts, newToken } = pageSessions()
  const token = newToken()
  const closed = new Connection()
  closed[how]()
  expect(sessions.use(token, closed)).toBe(true)
  clock.now += HOUR_MS
  expect(accepts(token)).toBe(false)
})

test('ticket and token of another server are unknown', () => {
  const { sessions, accepts } = pageSessions()
  const other = new PageSessions(seededRandom('another server'), () => 1_000, { key: 'another key' })
  const { secret } = other.newTicket()
  expect(sessions.exchange(secret)).toBeUndefined()
  expect(accepts(other.exchange(secret)?.token as string)).toBe(false)
})

test.each(['', 'x', 'A'.repeat(43)])('unknown ticket %j gives no token', (ticket) => {
  const { sessions, accepts } = pageSessions()
  const { secret } = sessions.newTicket()
  expect(sessions.exchange(ticket)).toBeUndefined()
  expect(accepts(ticket)).toBe(false)
  expect(sessions.exchange(secret)).toBeDefined()
})

test('page sessions keep the newest 16 tickets and 64 tokens', { tags: 'page/3' }, () => {
  const { sessions, accepts, newToken } = pageSessions()
  const tickets = Array.from({ length: 17 }, () => sessions.newTicket().secret)
  expect(tickets.map((it) => sessions.exchange(it) !== undefined)).toEqual([false, ...Array(16).fill(true)])
  const open = Array.from({ length: 65 }, newToken)
  expect(open.map(accepts)).toEqual([false, ...Array(64).fill(true)])
})

const ORIGIN = 'http://127.0.0.1:8420'
const hashOf = (token: string) => createHash('sha256').update(token).digest('hex')

/** Servers that use one file, one after the other or concurrently. */
function folder() {
  const clock = { now: Date.parse('2026-11-21T10:00:00Z') }
  const file = {
    text: '',
    writes: 0,
    read: () => file.text,
    write(text: string) {
      file.writes += 1
      file.text = text
    },
  }
  const start = (origin = ORIGIN, storage: SessionStorage = { key: 'key of the folder', file }) => {
    const sessions = new PageSessions(seededRandom(origin), () => clock.now, storage)
    sessions.open(origin)
    return sessions
  }
  const accepts = (sessions: PageSessions, token: string) => {
    const connection = new Connection()
    const isKnown = sessions.use(token, connection)
    connection.close()
    return isKnown
  }
  const newSession = (sessions: PageSessions) => {
    const session = sessions.exchange(sessions.newTicket().secret)
    if (session === undefined) throw new Error('no session')
    return session
  }
  return { clock, file, start, accepts, newSession }
}

test('token outlives a restart on the same address, and no hash is a token', { tags: 'page/5' }, () => {
  const { file, start, accepts, newSession } = folder()
  const { token, proof_key } = newSession(start())
  expect(file.text).not.toContain(token)
  expect(file.text).not.toContain(proof_key)
  const second = start()
  expect([accepts(second, token), accepts(second, hashOf(token))]).toEqual([true, false])
  expect(accepts(start('http://127.0.0.1:8421'), token)).toBe(false)
})

test('stored session ends an hour after its last use, which a stop and every ten minutes store', () => {
  const { clock, file, start, accepts, newSession } = folder()
  const first = start()
  const { token } = newSession(first)
  clock.now += HOUR_MS - 1
  expect(accepts(start(), token)).toBe(true)
  // The use was stored with the others of ten minutes, without a stop.
  clock.now += HOUR_MS - 1
  expect(accepts(start(), token)).toBe(true)
  const writes = file.writes
  const running = start()
  expect(accepts(running, token)).toBe(true)
  clock.now += 599_000
  expect(accepts(running, token)).toBe(true)
  expect(file.writes).toBe(writes + 1)
  running.save()
  clock.now += HOUR_MS - 1
  expect(accepts(start(), token)).toBe(true)
  clock.now += HOUR_MS
  expect(accepts(start(), token)).toBe(false)
})

test('session with an open stream counts as used when the server stops', () => {
  const { clock, start, accepts, newSession } = folder()
  const first = start()
  const { token } = newSession(first)
  first.use(token, new Connection())
  clock.now += 24 * HOUR_MS
  first.save()
  clock.now += HOUR_MS - 1
  expect(accepts(start(), token)).toBe(true)
})

test('servers of one folder keep the sessions of each other', () => {
  const { start, accepts, newSession } = folder()
  const [first, second] = [start(), start('http://127.0.0.1:8421')]
  const tokens = [newSession(first).token, newSession(second).token] as const
  first.save()
  expect(accepts(start(), tokens[0])).toBe(true)
  expect(accepts(start('http://127.0.0.1:8421'), tokens[1])).toBe(true)
})

test.each(['', '[]', '{"sessions":[{"hash":"x"}]}', '{"sessions":7}', 'not JSON'])(
  'damaged file %j has no session, and a new session replaces it',
  (text) => {
    const { file, start, accepts, newSession } = folder()
    file.text = text
    const { token } = newSession(start())
    expect(accepts(start(), token)).toBe(true)
  },
)

test('entry of the file whose hash is no text is no session', () => {
  const { file, start, accepts, newSession } = folder()
  const entry = { hash: ['0'.repeat(64)], origin: ORIGIN, used_at: '2026-11-21T10:00:00Z' }
  file.text = JSON.stringify({ version: 1, sessions: [entry] })
  const sessions = start()
  expect(accepts(sessions, newSession(sessions).token)).toBe(true)
  expect(JSON.parse(file.text).sessions).toHaveLength(1)
})

test('stored session whose last use is in the future ends an hour after the start', () => {
  const { clock, file, start, accepts, newSession } = folder()
  const { token } = newSession(start())
  file.text = file.text.replace('2026-11-21', '9999-11-21')
  const sessions = start()
  clock.now += HOUR_MS
  expect(accepts(sessions, token)).toBe(false)
})

test('page gets a session also if the file cannot be written', () => {
  const { start, accepts, newSession } = folder()
  const write = () => {
    throw new Error('ENOSPC')
  }
  const sessions = start(ORIGIN, { key: 'key', file: { read: () => '', write } })
  expect(accepts(sessions, newSession(sessions).token)).toBe(true)
})

test('server proves a session with the key of its folder, its address and the nonce', { tags: 'page/6' }, () => {
  const { clock, start, newSession } = folder()
  const { token, proof_key } = newSession(start())
  const expected = createHmac('sha256', Buffer.from(proof_key, 'hex')).update(`${ORIGIN} 00ff`).digest('hex')
  const restarted = start()
  expect(restarted.prove(hashOf(token), '00ff')).toBe(expected)
  expect(restarted.prove(hashOf(token), '00fe')).not.toBe(expected)
  expect(restarted.prove(hashOf('another token'), '00ff')).toBeUndefined()
  expect(start('http://127.0.0.1:8421').prove(hashOf(token), '00ff')).toBeUndefined()
  clock.now += HOUR_MS
  expect(restarted.prove(hashOf(token), '00ff')).toBeUndefined()
})

test('folder with another key proves nothing to the tab of an earlier one', { tags: 'page/6' }, () => {
  const { file, start, newSession } = folder()
  const { token, proof_key } = newSession(start())
  const expected = createHmac('sha256', Buffer.from(proof_key, 'hex')).update(`${ORIGIN} 00ff`).digest('hex')
  expect(start(ORIGIN, { key: 'another key', file }).prove(hashOf(token), '00ff')).not.toBe(expected)
})
