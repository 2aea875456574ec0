import { describe, expect, it } from 'vitest'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../src/domain/time.js'
import { DEFAULT_SESSION_LIMITS, hasEnded, memorySessions } from '../../src/store/sessions.js'

const DAY = 86_400_000

const session = (sid: string, expiresAt = 600_000) => ({ sid, expiresAt })
const limits = { sessions: 3, ridsOfSession: 5, rids: 8 }

async function sessionsOf(...sids: readonly string[]) {
  const sessions = memorySessions(limits)
  for (const sid of sids) await sessions.add(session(sid))
  return sessions
}

describe('replay marks', () => {
  it('first use of a rid in a session is accepted, all later ones are replays', { tags: 'envelopes/1' }, async () => {
    const sessions = await sessionsOf('a', 'b')
    const uses = await Promise.all(Array.from({ length: 10 }, () => sessions.use('a', 'rid')))
    expect(uses.filter((it) => it === 'first')).toHaveLength(1)
    expect(uses.filter((it) => it === 'replayed')).toHaveLength(9)
    expect(await sessions.use('b', 'rid')).toBe('first')
    expect(await sessions.use('c', 'rid')).toBe('ended')
  })

  it('used rids are replays until the session exceeds its limit and ends', { tags: 'replay-marks/1' }, async () => {
    const sessions = await sessionsOf('a')
    for (let n = 0; n < limits.ridsOfSession; n++) expect(await sessions.use('a', `rid ${n}`)).toBe('first')
    await sessions.confirm('a')
    await sessions.deleteExpired(1)
    expect(await sessions.use('a', 'rid 0')).toBe('replayed')
    expect(await sessions.use('a', 'one more')).toBe('ended')
    expect(await sessions.find('a')).toBe(undefined)
    expect(await sessions.use('a', 'rid 0')).toBe('ended')
  })
})

it('sessions end beyond the default limits', {
  tags: ['replay-marks/1', 'replay-marks/2', 'session-limits/1'],
}, async () => {
  const sessions = memorySessions()
  await sessions.add(session('a'))
  for (let n = 0; n < 65_536; n++) if ((await sessions.use('a', `rid ${n}`)) !== 'first') expect.unreachable()
  expect(await sessions.use('a', 'rid 0')).toBe('replayed')
  expect(await sessions.use('a', 'rid 65536')).toBe('ended')
  expect(await sessions.find('a')).toBe(undefined)
  for (let n = 0; n <= 50_000; n++) await sessions.add(session(`${n}`))
  expect([sessions.size(), DEFAULT_SESSION_LIMITS.rids]).toEqual([50_000, 1_000_000])
})

it('size of the sessions in memory counts those that have not ended', async () => {
  const sessions = await sessionsOf('a', 'b')
  await sessions.add(session('c', 700_000))
  expect(sessions.size()).toBe(3)
  await sessions.deleteExpired(600_000)
  expect(sessions.size()).toBe(1)
  sessions.clear()
  expect(sessions.size()).toBe(0)
})

describe('session limits', { tags: 'session-limits/1' }, () => {
  it('new session beyond the limit evicts the oldest session with its replay marks', async () => {
    const sessions = await sessionsOf('a', 'b', 'c')
    await sessions.use('a', 'rid')
    await sessions.add(session('d'))
    expect(await sessions.find('a')).toBe(undefined)
    expect(await sessions.use('a', 'rid')).toBe('ended')
    for (const sid of ['b', 'c', 'd']) expect(await sessions.find(sid)).toMatchObject({ sid })
  })

  it('new session beyond the limit evicts sessions without a successful call first', async () => {
    const sessions = await sessionsOf('worked', 'b', 'c')
    await sessions.confirm('worked')
    expect([(await sessions.find('worked'))?.confirmed, (await sessions.find('b'))?.confirmed]).toEqual([true, false])
    await sessions.use('b', 'rid')
    for (let n = 0; n < 20; n++) await sessions.add(session(`junk ${n}`))
    expect(await sessions.find('worked')).toBeDefined()
    expect(await sessions.find('b')).toBe(undefined)
    await sessions.confirm('junk 18')
    await sessions.confirm('junk 19')
    await sessions.add(session('new'))
    expect(await sessions.find('worked')).toBe(undefined)
    expect(await sessions.find('new')).toBeDefined()
  })

  it('store over its limit of replay marks evicts a session without a successful call first', async () => {
    const sessions = await sessionsOf('worked', 'junk')
    await sessions.confirm('worked')
    for (let n = 0; n < 5; n++) await sessions.use('worked', `rid ${n}`)
    for (let n = 0; n < 3; n++) await sessions.use('junk', `rid ${n}`)
    expect(await sessions.use('junk', 'rid 3')).toBe('ended')
    expect([await sessions.find('junk'), await sessions.use('worked', 'rid 0')]).toEqual([undefined, 'replayed'])
  })

  it('store over its limit of replay marks evicts only the session with the most marks', async () => {
    const sessions = await sessionsOf('a', 'b', 'c')
    for (let n = 0; n < 2; n++) await sessions.use('a', `rid ${n}`)
    for (let n = 0; n < 5; n++) await sessions.use('b', `rid ${n}`)
    expect(await sessions.use('c', 'rid 0')).toBe('first')
    expect(await sessions.use('c', 'rid 1')).toBe('first')
    expect(await sessions.find('b')).toBe(undefined)
    expect([await sessions.use('a', 'rid 0'), await sessions.use('c', 'rid 1')]).toEqual(['replayed', 'replayed'])
  })

  it('store over its limit of replay marks evicts the oldest of sessions with equally many marks', async () => {
    const sessions = memorySessions({ ...limits, rids: 4 })
    for (const sid of ['a', 'b', 'c']) await sessions.add(session(sid))
    for (const rid of ['1', '2']) for (const sid of ['b', 'a']) await sessions.use(sid, rid)
    expect(await sessions.use('c', 'rid')).toBe('first')
    expect([await sessions.find('a'), (await sessions.find('b'))?.sid]).toEqual([undefined, 'b'])
  })

  it('store over its limit of replay marks evicts even the only session', async () => {
    const sessions = memorySessions({ ...limits, rids: 2 })
    await sessions.add(session('a'))
    expect([await sessions.use('a', '1'), await sessions.use('a', '2')]).toEqual(['first', 'first'])
    expect(await sessions.use('a', '3')).toBe('ended')
    expect(await sessions.find('a')).toBe(undefined)
  })

  it('number of sessions and of replay marks never exceeds the limits', { tags: 'replay-marks/1' }, async () => {
    const sessions = memorySessions(limits)
    const living = new Map<string, Set<string>>()
    for (let n = 0; n < 2_000; n++) {
      const sid = `s${(n * 7) % 13}`
      if (n % 3 === 0 && (await sessions.find(sid)) === undefined) {
        await sessions.add(session(sid))
        living.set(sid, new Set())
      }
      const rid = `r${(n * 5) % 11}`
      const before = (await sessions.find(sid)) === undefined ? undefined : living.get(sid)
      const use = await sessions.use(sid, rid)
      // A rid is known exactly if its session has used it and still exists.
      if (before !== undefined && use !== 'ended') expect(use).toBe(before.has(rid) ? 'replayed' : 'first')
      before?.add(rid)
      let [kept, marks] = [0, 0]
      for (const [id, rids] of living) {
        if ((await sessions.find(id)) === undefined) living.delete(id)
        else [kept, marks] = [kept + 1, marks + rids.size]
      }
      expect(kept).toBeLessThanOrEqual(limits.sessions)
      expect(marks).toBeLessThanOrEqual(limits.rids)
    }
  })
})

it('expired session is deleted with its replay marks, not a millisecond before its expiry', async () => {
  const sessions = memorySessions({ ...limits, rids: 2 })
  await sessions.add(session('a', 1_000))
  await sessions.add(session('b', 2_000))
  await sessions.use('a', '1')
  await sessions.deleteExpired(999)
  expect(await sessions.find('a')).toMatchObject({ sid: 'a' })
  await sessions.deleteExpired(1_000)
  expect([await sessions.find('a'), (await sessions.find('b'))?.sid]).toEqual([undefined, 'b'])
  // The marks of the expired session no longer count, so the limit admits two others.
  expect([await sessions.use('b', '1'), await sessions.use('b', '2')]).toEqual(['first', 'first'])
})

it('confirm does not restore a session that has ended', async () => {
  const sessions = await sessionsOf('a', 'b', 'c', 'd')
  await sessions.confirm('a')
  expect(await sessions.find('a')).toBe(undefined)
})

it('clear ends every session and removes its replay marks', async () => {
  const sessions = memorySessions({ ...limits, rids: 2 })
  await sessions.add(session('a'))
  await sessions.add(session('b'))
  await sessions.confirm('b')
  for (const sid of ['a', 'b']) await sessions.use(sid, 'rid')
  sessions.clear()
  expect([await sessions.find('a'), await sessions.find('b')]).toEqual([undefined, undefined])
  expect(await sessions.use('a', 'rid')).toBe('ended')
  await sessions.add(session('c'))
  expect([await sessions.use('c', '1'), await sessions.use('c', '2')]).toEqual(['first', 'first'])
  expect(await sessions.use('c', '1')).toBe('replayed')
})

it('encrypted session opened days ahead ends when the clock is set back', { tags: 'clock-set-back/1' }, async () => {
  const ahead = session('s', 10 * DAY + 600_000)
  const times = [10 * DAY, 10 * DAY - PROCESS_CLOCK_SKEW_MS_MAX, 10 * DAY + 600_000, 0]
  expect(times.map((now) => hasEnded(ahead, now))).toEqual([false, false, true, true])
  const sessions = memorySessions()
  await sessions.add(ahead)
  await sessions.add(session('later'))
  await sessions.deleteExpired(0)
  expect([await sessions.find('s'), (await sessions.find('later'))?.sid]).toEqual([undefined, 'later'])
})
