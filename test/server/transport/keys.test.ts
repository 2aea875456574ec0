import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { KeysUnusable } from '../../../src/server/keys.js'
import { keyFileInMemory, SecureKeys, secureKeyFile } from '../../../src/server/transport/keys.js'
import { securely } from '../../support/secure/send.js'
import { wireSession } from '../../support/secure/wire.js'
import { START_MS, seededRandom, testApp, testDeps } from '../../support/server/app.js'
import { startServerChild } from '../../support/server/child.js'
import { callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { inFolder, standaloneServer } from '../../support/server/server.js'
import { newTenant } from '../../support/server/tenant.js'

const GRACE_MS = 120_000
const statesOf = (keys: SecureKeys, now: number) => keys.list(now).map(({ kid, state }) => `${state} ${kid}`)
const kidIn = (keys: Pick<SecureKeys, 'list'>, state: string) =>
  keys.list(0).find((it) => it.state === state)?.kid as string

describe('transport key', () => {
  it('transport key is next, then current, in grace for 120 s and then destroyed', { tags: 'server-keys/2' }, () => {
    const file = keyFileInMemory()
    const keys = new SecureKeys(file, seededRandom('keys'), 0)
    const [first, second] = [kidIn(keys, 'current'), kidIn(keys, 'next')]
    expect(keys.keyFor(undefined, 0)?.kid).toBe(first)
    expect([keys.keyFor(first, 0)?.kid, keys.keyFor(second, 0)]).toEqual([first, undefined])

    keys.rotate(1_000)
    const third = kidIn(keys, 'next')
    expect(statesOf(keys, 1_000)).toEqual([`current ${second}`, `next ${third}`, `grace ${first}`])
    const end = 1_000 + GRACE_MS
    expect(keys.keyFor(undefined, end - 1)?.kid).toBe(second)
    expect([keys.keyFor(first, end - 1)?.kid, keys.keyFor(first, end)]).toEqual([first, undefined])
    expect(statesOf(keys, end)).toEqual([`current ${second}`, `next ${third}`])
    const held = JSON.parse(file.read() ?? '').keys as { private_key: string }[]
    keys.destroyExpired(end - 1)
    expect(JSON.parse(file.read() ?? '').keys).toEqual(held)
    keys.destroyExpired(end)
    expect(JSON.parse(file.read() ?? '').keys).toEqual(held.slice(0, 2))
  })

  it('transport key is destroyed if the clock is set back after its rotation', { tags: 'clock-set-back/1' }, () => {
    const keys = new SecureKeys(keyFileInMemory(), seededRandom('keys'), 0)
    const first = kidIn(keys, 'current')
    const replacedAt = 10 * 86_400_000
    keys.rotate(replacedAt)
    // A clock that is minutes behind is accepted: the clocks of two processes may differ.
    expect([replacedAt, replacedAt - 300_000].map((now) => keys.keyFor(first, now)?.kid)).toEqual([first, first])
    expect(keys.keyFor(first, 0)).toBeUndefined()
  })

  it('transport key keeps its own grace period when another rotation follows', () => {
    const keys = new SecureKeys(keyFileInMemory(), seededRandom('keys'), 0)
    const first = kidIn(keys, 'current')
    keys.rotate(0)
    const second = kidIn(keys, 'current')
    keys.rotate(60_000)
    expect(keys.keyFor(first, GRACE_MS - 1)?.kid).toBe(first)
    expect([keys.keyFor(first, GRACE_MS), keys.keyFor(second, GRACE_MS)?.kid]).toEqual([undefined, second])
  })

  it('rotation of transport keys changes nothing if the file cannot be written', { tags: 'server-keys/2' }, () => {
    const file = keyFileInMemory()
    const keys = new SecureKeys(file, seededRandom('keys'), 0)
    const before = statesOf(keys, 0)
    Object.assign(file, {
      write: () => {
        throw new Error('disk full')
      },
    })
    expect(() => keys.rotate(0)).toThrow('disk full')
    expect(statesOf(keys, 0)).toEqual(before)
  })

  it('transport key survives a restart; a restart after its grace period destroys it', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'secure-keys.json')
      const start = (now: number) => new SecureKeys(secureKeyFile(path, true), seededRandom(`keys ${now}`), now)
      const keys = start(0)
      keys.rotate(0)
      expect(statesOf(start(GRACE_MS - 1), 0)).toEqual(statesOf(keys, 0))
      expect(statesOf(start(GRACE_MS), 0)).toEqual(statesOf(keys, GRACE_MS))
      expect(JSON.parse(readFileSync(path, 'utf8')).keys).toHaveLength(2)
      expect(statSync(path).mode & 0o777).toBe(0o600)
    }))

  it('server start deletes the unfinished transport key file of a killed process', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'secure-keys.json')
      writeFileSync(`${path}.tmp-host-4711-0a1b2c3d`, 'half of a key file')
      writeFileSync(join(folder, 'keys.json.tmp-host-1-0a1b2c3d'), 'another file')
      new SecureKeys(secureKeyFile(path, true), seededRandom('keys'), 0)
      expect(readdirSync(folder).sort()).toEqual(['keys.json.tmp-host-1-0a1b2c3d', 'secure-keys.json'])
    }))
})

describe('transport key file', () => {
  const written = () => {
    const file = keyFileInMemory()
    new SecureKeys(file, seededRandom('keys'), 0).rotate(0)
    return JSON.parse(file.read() ?? '') as { version: number; keys: Record<string, unknown>[] }
  }
  it.each([
    ['is truncated', (file: ReturnType<typeof written>) => JSON.stringify(file).slice(0, -20)],
    ['is empty', () => ''],
    ['has another version', (file) => JSON.stringify({ ...file, version: 2 })],
    ['has two current keys', (file) => JSON.stringify({ ...file, keys: [...file.keys, file.keys[0]] })],
    ['lacks the next key', (file) => JSON.stringify({ ...file, keys: [file.keys[0]] })],
    [
      'has a key in grace without an end',
      (file) => {
        return JSON.stringify({ ...file, keys: file.keys.map((it) => ({ ...it, grace_until: null })) })
      },
    ],
    [
      'has a truncated key',
      (file) => JSON.stringify(file).replace(/"private_key":"(.{20}).{23}"/, '"private_key":"$1"'),
    ],
  ])('transport key file that %s is refused without a key in the error', (_, spoil) => {
    const file = written()
    const text = spoil(file)
    const start = () =>
      new SecureKeys({ name: 'secure-keys.json', read: () => text, write: () => {} }, seededRandom(''), 0)
    expect(start).toThrow(KeysUnusable)
    try {
      start()
    } catch (error) {
      for (const key of file.keys)
        expect(String((error as Error).stack)).not.toContain(String(key.private_key).slice(0, 12))
    }
  })
})

describe('key rotation on a server', () => {
  it('transport key opens sessions until its grace ends', { tags: ['server-keys/1', 'server-keys/2'] }, async () => {
    const server = testApp()
    const { keys } = server.deps.secure
    const tenant = await newTenant(server)
    const call = {
      method: 'GET',
      path: contract.templates.list.path,
      headers: { authorization: `Bearer ${tenant.token}` },
    }
    const now = () => server.clock.now()
    const first = keys.current.kid
    const old = await wireSession(server.send, { now })
    expect(old.kid).toBe(first)
    await keys.rotate(now())
    const open = async (kid: string) => {
      const clientPublicKey = 'BFgtJ9RuU1whvjBiSlNTuOy4ywuxWT3Of63vzJ9bZXScS7_N8VyXJpwm8zz82EwHcYpdP8BGOYVmnzm50tHINDM'
      const body = JSON.stringify({ clientPublicKey, kid })
      const headers = { 'content-type': 'application/json' }
      return (await server.send({ method: 'POST', path: '/api/v1/secure/session', headers, body })).status
    }
    expect([await open(first), await open(keys.current.kid), await open(kidIn(keys, 'next'))]).toEqual([200, 200, 409])
    expect((await wireSession(server.send, { now })).kid).toBe(keys.current.kid)
    server.clock.advance(GRACE_MS)
    expect([await open(first), await open(keys.current.kid)]).toEqual([409, 200])
    expect((await old.call(call)).status).toBe(200)
    await server.close()
  })

  it('encrypted calls of 5 clients all succeed during several key rotations', async () => {
    const server = testApp()
    const tenant = await newTenant(server)
    let sent = 0
    const session = () =>
      securely(
        (request) => {
          sent += request.path.endsWith('/session') ? 1 : 0
          return server.send(request)
        },
        { now: () => server.clock.now() },
      )
    const clients = Array.from({ length: 5 }, () => callerOf(session(), tenant.token))
    const kids = new Set<string>()
    let done = 0
    const callOn = async (call: (typeof clients)[0]) => {
      for (let n = 0; n < 5; n++) {
        expect((await call(contract.templates.list, {})).status).toBe(200)
        done += 1
      }
    }
    for (let round = 0; round < 8; round++) {
      kids.add(server.deps.secure.keys.current.kid)
      const calls = clients.map(callOn)
      await tenant.operator(contract.platform.rotateSecureKeys, {})
      await Promise.all(calls)
      // Advance to the grace period, to its last millisecond, past it, and past the expiry of every session.
      server.clock.advance([0, 119_999, 120_000, 600_000][round % 4] as number)
      await server.deps.secure.keys.destroyExpired(server.clock.now())
    }
    expect([done, kids.size]).toEqual([200, 8])
    expect(sent).toBeGreaterThan(5)
    await server.close()
  })

  it('operator API shows kid, state, pin and dates of transport keys, but no private key', async () => {
    const file = keyFileInMemory()
    const server = testApp({
      secure: { ...testDeps().secure, keys: new SecureKeys(file, seededRandom('keys'), START_MS) },
    })
    const call = callerOf(server.send, server.operatorKey)
    const rotated = await call(contract.platform.rotateSecureKeys, {})
    const listed = await call(contract.platform.secureKeys, {})
    expect(listed.data).toEqual(rotated.data)
    expect(listed.data.items.map(({ state }) => state)).toEqual(['current', 'next', 'grace'])
    for (const item of listed.data.items) {
      expect(Object.keys(item)).toEqual(['kid', 'state', 'pin', 'created_at', 'activated_at', 'grace_until'])
      expect(item.pin.slice('sha256:'.length, 'sha256:'.length + 16)).toBe(item.kid)
    }
    for (const { private_key: key } of JSON.parse(file.read() ?? '').keys) expect(listed.text).not.toContain(key)
    await server.close()
  })
})

describe('transport keys of a live server', () => {
  it('server stores transport keys in a separate file and destroys them after the grace period', () =>
    inFolder(async (dataDir) => {
      const live = await standaloneServer({ dataDir })
      const path = join(dataDir, 'secure-keys.json')
      const call = callerOf(live.send, live.operatorKey)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      const kept = () =>
        (JSON.parse(readFileSync(path, 'utf8')).keys as { private_key: string }[]).map((it) => it.private_key)
      const [first] = kept()
      await call(contract.platform.rotateSecureKeys, {})
      expect([kept().length, kept().includes(first as string)]).toEqual([3, true])
      await call(contract.platform.advanceClock, { seconds: 121 })
      await until(() => kept().length === 2)
      expect(kept()).not.toContain(first)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      await live.close()
    }))

  it('server killed after key rotations restarts with every transport key that a call returned', () =>
    inFolder(async (dataDir) => {
      const first = await startServerChild(dataDir)
      const call = callerOf(first.send, first.operatorKey)
      const rotations = Array.from({ length: 20 }, () => call(contract.platform.rotateSecureKeys, {}))
      const responses = (await Promise.all(rotations)).map(({ data }) => data.items)
      await first.kill()
      const second = await startServerChild(dataDir)
      const { items } = (await callerOf(second.send, second.operatorKey)(contract.platform.secureKeys, {})).data
      const known = responses.map((it) => it[0]?.kid)
      expect(known).toContain(items[0]?.kid)
      expect(items.filter(({ state }) => state === 'grace')).toHaveLength(20)
      await second.kill()
    }))
})
