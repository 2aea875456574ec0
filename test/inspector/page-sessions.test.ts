import { expect, test } from 'vitest'
import { PageSessions } from '../../src/inspector/page-sessions.js'
import { seededRandom } from '../support/server/app.js'

function pageSessions() {
  const clock = { now: 1_000 }
  return { clock, sessions: new PageSessions(seededRandom('pages'), () => clock.now) }
}

test('ticket gives one session, once', () => {
  const { sessions } = pageSessions()
  const { secret } = sessions.newTicket()
  const session = sessions.exchange(secret) as string
  expect(sessions.has(session)).toBe(true)
  expect(sessions.exchange(secret)).toBeUndefined()
  expect(session).not.toBe(secret)
})

test('ticket and session are 32 random bytes each, and one is not the other', () => {
  const { sessions } = pageSessions()
  const { secret } = sessions.newTicket()
  expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  expect(sessions.has(secret)).toBe(false)
  const session = sessions.exchange(secret) as string
  expect(Buffer.from(session, 'base64url')).toHaveLength(32)
  expect(sessions.exchange(session)).toBeUndefined()
})

test('ticket expires after two minutes, its session does not', () => {
  const { sessions, clock } = pageSessions()
  const [early, late] = [sessions.newTicket(), sessions.newTicket()]
  clock.now = early.expiresAt - 1
  const session = sessions.exchange(early.secret) as string
  clock.now = late.expiresAt
  expect(late.expiresAt).toBe(121_000)
  expect(sessions.exchange(late.secret)).toBeUndefined()
  expect(sessions.has(session)).toBe(true)
})

test.each(['', 'x', 'A'.repeat(43)])('unknown ticket %j gives no session', (ticket) => {
  const { sessions } = pageSessions()
  const { secret } = sessions.newTicket()
  expect(sessions.exchange(ticket)).toBeUndefined()
  expect(sessions.has(ticket)).toBe(false)
  expect(sessions.exchange(secret)).toBeDefined()
})

test('the newest 16 tickets and 64 sessions are kept', () => {
  const { sessions } = pageSessions()
  const tickets = Array.from({ length: 17 }, () => sessions.newTicket().secret)
  expect(tickets.map((it) => sessions.exchange(it) !== undefined)).toEqual([false, ...Array(16).fill(true)])
  const open = Array.from({ length: 65 }, () => sessions.exchange(sessions.newTicket().secret) as string)
  expect(open.map((it) => sessions.has(it))).toEqual([false, ...Array(64).fill(true)])
})
