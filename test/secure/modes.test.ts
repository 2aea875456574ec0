import { describe, expect, it } from 'vitest'
import type { SecureSessionOptions } from '../../src/secure/index.js'
import * as secure from '../../src/secure/index.js'
import { makeFakeServer, makeRandom, makeTimers, redeem, refusal } from './fake-server.js'

const START = Date.UTC(2027, 0, 1)

function setup(options: Partial<SecureSessionOptions>, isProtected = false) {
  const clock = { now: START }
  const server = makeFakeServer(() => clock.now)
  const downgradeProtection = {
    value: isProtected,
    isSet: async () => downgradeProtection.value,
    set: async () => void (downgradeProtection.value = true),
  }
  const create = () =>
    secure.createSecureSession({
      mode: 'auto',
      trustedChannel: true,
      send: server.send,
      downgradeProtection,
      now: () => clock.now,
      randomBytes: makeRandom('client'),
      setTimer: makeTimers().setTimer,
      ...options,
    })
  return { clock, server, downgradeProtection, create, session: create() }
}

describe('mode auto', () => {
  it('mode auto encrypts if the server supports it, and turns on downgrade protection', async () => {
    const { session, downgradeProtection, server } = setup({})
    expect(await session.send(redeem)).toMatchObject({ ok: true, encrypted: true })
    expect(downgradeProtection.value).toBe(true)
    expect(server.count(redeem.path)).toBe(0)
  })

  it('mode auto sends plain text over a trusted channel if the server disables encryption', async () => {
    const { session, downgradeProtection, server } = setup({})
    server.enabled = false
    for (let i = 0; i < 3; i++) {
      expect(await session.send(redeem)).toMatchObject({ ok: true, encrypted: false, succeeded: true })
    }
    expect(downgradeProtection.value).toBe(false)
    expect(server.count(secure.paths.bootstrap)).toBe(1)
    expect(server.requests.at(-1)).toMatchObject({ path: redeem.path, headers: redeem.headers, body: redeem.body })
  })

  it('mode auto sends a request that cannot be encrypted if the server disables encryption', async () => {
    const { session, server } = setup({})
    server.enabled = false
    expect(await session.send({ ...redeem, path: '/healthz' })).toMatchObject({ ok: true, encrypted: false })
  })

  it('mode auto repeats the bootstrap 600 s after the server reported encryption as disabled', async () => {
    const { session, server, clock } = setup({})
    server.enabled = false
    await session.send(redeem)
    clock.now += 599_999
    server.enabled = true
    expect(await session.send(redeem)).toMatchObject({ encrypted: false })
    clock.now += 1
    expect(await session.send(redeem)).toMatchObject({ encrypted: true })
  })

  it.each([
    ['over an untrusted channel', { trustedChannel: false }, false],
    ['under downgrade protection', {}, true],
  ])('mode auto does not fall back to plain text %s', { tags: 'client-modes/4' }, async (_, options, isProtected) => {
    const { session, server } = setup(options, isProtected)
    server.enabled = false
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_TRANSPORT_DISABLED' })
    expect(server.processed).toEqual([])
  })

  it('mode auto never falls back after a session, even in the next process', { tags: 'client-modes/4' }, async () => {
    const { session, server, clock, create } = setup({})
    await session.send(redeem)
    server.enabled = false
    clock.now += 600_000
    for (const it_ of [session, create()]) {
      expect(await it_.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_TRANSPORT_DISABLED' })
    }
    expect(server.count(redeem.path)).toBe(0)
  })

  it('mode auto turns on downgrade protection when a plain call gets 426', { tags: 'client-modes/4' }, async () => {
    const { session, server, downgradeProtection } = setup({})
    server.enabled = false
    server.respond = () => refusal(426, 'SECURE_TRANSPORT_REQUIRED')
    expect(await session.send(redeem)).toMatchObject({ ok: true, encrypted: false, response: { status: 426 } })
    expect(downgradeProtection.value).toBe(true)
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_TRANSPORT_DISABLED' })
    expect(server.count(redeem.path)).toBe(1)
  })

  it('mode auto fails without sending plain text if the bootstrap fails', async () => {
    const { session, server } = setup({})
    for (const status of [404, 500, 301]) {
      server.intercept = () => ({ status, headers: {}, body: '' })
      expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_ANSWER_REFUSED' })
    }
    server.intercept = () => Promise.reject(new Error('down'))
    expect(await session.send(redeem)).toMatchObject({ ok: false, code: 'SECURE_NO_ANSWER', phase: 'bootstrap' })
    expect(server.count(redeem.path)).toBe(0)
  })
})

describe('mode off', () => {
  it('mode off sends the request unchanged and no other request', async () => {
    const { session, server } = setup({ mode: 'off' })
    const request = { ...redeem, timeoutMs: 5 }
    expect(await session.send(request)).toMatchObject({ ok: true, encrypted: false, succeeded: true })
    expect(server.requests).toEqual([request])
  })

  it('mode off turns on downgrade protection when a call gets 426', async () => {
    const { session, server, downgradeProtection } = setup({ mode: 'off' })
    server.respond = () => refusal(426, 'SECURE_TRANSPORT_REQUIRED')
    expect(await session.send(redeem)).toMatchObject({ ok: true, succeeded: false, response: { status: 426 } })
    expect(downgradeProtection.value).toBe(true)
  })

  it('mode off returns the error that the HTTP client throws', async () => {
    const { session, server } = setup({ mode: 'off' })
    const cause = new Error('down')
    server.intercept = () => Promise.reject(cause)
    const failure = { ok: false, code: 'SECURE_NO_ANSWER', phase: 'plain', maybeProcessed: true, cause }
    expect(await session.send(redeem)).toMatchObject(failure)
  })
})

describe('downgrade protection', () => {
  it('mode auto fails before dispatch if downgrade protection cannot be stored', async () => {
    const broken = new Error('disk full')
    const { session, server } = setup({
      downgradeProtection: { isSet: () => false, set: () => Promise.reject(broken) },
    })
    await expect(session.send(redeem)).rejects.toBe(broken)
    expect(server.count(secure.paths.dispatch)).toBe(0)
  })
})
