import process from 'node:process'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { contract } from '../../src/contract/index.js'
import { type HoldPlace, holdPlaces } from '../../src/contract/platform/fault-kinds.js'
import { type WaitEnd, Waits } from '../../src/server/waits.js'
import { defaultSeed } from '../../src/testing/options.js'
import type { HoldOptions, NewFault, StartOptions, TestServer } from '../../src/testing/types.js'
import { bearerLine, getBytes, postBytes, RawConnection } from '../support/server/raw.js'
import { type LibraryServer, liveServer } from '../support/server/server.js'
import { onPostgres } from '../support/store/engine-name.js'

// The places and ends of rules/operator.md#held-calls over real sockets.

const endpoint = 'vouchers.redeem'
const places = Object.keys(holdPlaces) as HoldPlace[]
const isBeforeWork = (at: HoldPlace) => at === 'received' || at === 'before'
/** An hour, so that no call goes on because its time is over. */
const hold_ms = 3_600_000

let live: LibraryServer
let server: TestServer
beforeAll(async () => {
  live = await start()
  server = live.server
})
afterEach(() => live.server.reset())
afterAll(() => live.close())

const start = (options: StartOptions = {}) => liveServer({ seed: defaultSeed, ...options })

/** A server that a test closes. */
async function startOwn(options: StartOptions = {}) {
  const own = await start(options)
  onTestFinished(() => own.close())
  return own
}

let issued = 0
async function sell(on = server) {
  const order = `order-${++issued}`
  const input = { template_id: 'tpl_coffee', external_issue_id: order, recipient_user_id: 'user-1' }
  const result = await on.client.vouchers.issue(input)
  if (!result.ok) throw new Error(result.code)
  const { value = '' } = result.data.credentials.find((it) => it.type === 'redeem_code') ?? {}
  return { order, id: result.data.id, credential: { type: 'redeem_code', value } as const }
}
type Sold = Awaited<ReturnType<typeof sell>>
const sellMany = (count: number, on = server) => Promise.all(Array.from({ length: count }, () => sell(on)))

const redeemBytes = ({ order, credential }: Sold, { token } = server) =>
  postBytes(contract.vouchers.redeem.path, `${bearerLine(token)}Idempotency-Key: ${order}\r\n`, { credential })
const redeem = ({ order, credential }: Sold, on = server) =>
  on.client.vouchers.redeem({ credential }, { idempotencyKey: order })
const statusOf = async ({ order }: Sold, on = server) => (await on.vouchers({ external_issue_id: order }))[0]?.status
const redeemed = async (on = server) => (await on.vouchers({ status: 'redeemed' })).length
const faultCount = async (on = server) => {
  const listed = await on.operator.faults()
  return listed.ok ? listed.data.items.length : undefined
}
const heldCalls = async (on = server) => {
  const listed = await on.operator.faults()
  return listed.ok ? listed.data.held.length : undefined
}

/** Sends a redeem on a new connection and waits until it is held. */
async function holdRedeem(at: HoldPlace, options: HoldOptions = {}, on = live) {
  const sold = await sell(on.server)
  const held = await on.server.hold(endpoint, { at, hold_ms, ...options })
  const client = await RawConnection.to(on.port)
  client.write(redeemBytes(sold, on.server))
  await held.call
  return { sold, held, client }
}

/** Sends redeems on connections of their own and waits until all are held. */
async function holdMany(count: number, at: HoldPlace, on = live) {
  const sold = await sellMany(count, on.server)
  on.server.faults.add({ endpoint, kind: 'hold', at, hold_ms, times: count })
  const clients = await Promise.all(sold.map(() => RawConnection.to(on.port)))
  for (const [n, client] of clients.entries()) client.write(redeemBytes(sold[n] as Sold, on.server))
  await vi.waitUntil(async () => (await heldCalls(on.server)) === count, 60_000)
  return clients
}

/** Sends redeems on one connection and waits until all are held. */
async function pipelineHeld(count: number, at: HoldPlace) {
  const sold = await sellMany(count)
  server.faults.add({ endpoint, kind: 'hold', at, hold_ms, times: count })
  const client = await RawConnection.to(live.port)
  client.write(sold.map((it) => redeemBytes(it)).join(''))
  await vi.waitUntil(async () => (await heldCalls()) === count, 60_000)
  return { client, sold }
}

/** Resolves to the end of the next wait of a delay, a hold or a silent call. */
function endOfNextWait(): Promise<WaitEnd> {
  const begin = vi.spyOn(Waits.prototype, 'begin')
  onTestFinished(() => begin.mockRestore())
  const wait = async () => {
    await vi.waitUntil(() => begin.mock.results.length > 0, 60_000)
    return (begin.mock.results[0]?.value as ReturnType<Waits['begin']>).ended
  }
  return wait()
}

it.each([
  ['received', 'issued', 'no byte'],
  ['before', 'issued', 'no byte'],
  ['committed', 'redeemed', 'no byte'],
  ['answered', 'redeemed', 'the head'],
] as const)('redeem held at %s leaves it %s and has sent %s', { tags: 'held-calls/1' }, async (at, status, sent) => {
  const { sold, held, client } = await holdRedeem(at)
  if (sent === 'the head') await vi.waitUntil(() => client.received.endsWith('\r\n\r\n'), 60_000)
  expect(await statusOf(sold)).toBe(status)
  const head = /^HTTP\/1\.1 200 OK\r\n[^]*\r\ncontent-length: \d\d+\r\n[^]*\r\n\r\n$/i
  expect(client.received).toMatch(sent === 'the head' ? head : /^$/)
  held.release()
  expect((await client.response()).data).toMatchObject({ status: 'succeeded' })
  client.destroy()
})

const ends = ['its release', 'hold_ms', 'a reset', 'a restore', 'the close of the server'] as const

it.each(places.flatMap((at) => ends.map((end) => [at, end] as const)))(
  'redeem held at %s gets its response after %s',
  { tags: 'held-calls/1' },
  async (at, end) => {
    const on = end === 'the close of the server' ? await startOwn() : live
    const empty = await on.server.snapshot()
    const { held, client } = await holdRedeem(at, end === 'hold_ms' ? { hold_ms: 1 } : {}, on)
    if (end === 'its release') held.release()
    if (end === 'a reset') await on.server.reset()
    if (end === 'a restore') await on.server.restore(empty)
    if (end === 'the close of the server') await on.close()
    const { status, text } = await client.response()
    expect([status, text]).toEqual([200, expect.stringContaining('"succeeded"')])
    const kept = end === 'its release' || end === 'hold_ms' ? 1 : 0
    if (end === 'the close of the server') await client.end()
    else expect([await redeemed(), await heldCalls()]).toEqual([kept, 0])
    client.destroy()
  },
)

it.each([
  ['received', 'reset'],
  ['received', 'destroy'],
  ['before', 'reset'],
  ['before', 'destroy'],
] as const)('redeem held at %s has no effect if its client ends by %s', { tags: 'held-calls/2' }, async (at, how) => {
  const { sold, client } = await holdRedeem(at)
  client[how]()
  await vi.waitUntil(async () => (await heldCalls()) === 0, 60_000)
  expect(await server.requests.wait({ endpoint })).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
  expect(await statusOf(sold)).toBe('issued')
  expect(await redeem(sold)).toMatchObject({ ok: true, replayed: false })
})

it.each([
  ['committed', 'reset'],
  ['committed', 'destroy'],
  ['answered', 'reset'],
  ['answered', 'destroy'],
] as const)('redeem held at %s is replayed with its key after its client disconnects by %s', async (at, how) => {
  const { sold, client } = await holdRedeem(at)
  client[how]()
  expect(await redeem(sold)).toMatchObject({ ok: true, replayed: true })
  await vi.waitUntil(async () => (await heldCalls()) === 0, 60_000)
  expect(await server.requests.wait({ endpoint })).toMatchObject({ status: 200, replayed: false })
})

it('calls of the same voucher, tenant and endpoint run while a redeem is held', { tags: 'held-calls/3' }, async () => {
  for (const at of places) {
    const { sold, held, client } = await holdRedeem(at)
    const { credential, id: voucherId } = sold
    const isDone = !isBeforeWork(at)
    expect(await server.client.vouchers.verify({ credential })).toMatchObject({ data: { redeemable: !isDone } })
    expect(await server.client.templates.list()).toMatchObject({ ok: true })
    expect(await server.operator.voucher({ voucherId })).toMatchObject({ ok: true })
    expect(await server.operator.find({ text: voucherId })).toMatchObject({ ok: true })
    expect(await redeem(await sell())).toMatchObject({ ok: true })
    expect((await server.client.vouchers.redeem({ credential })).ok).toBe(!isDone)
    held.release()
    expect((await client.response()).code).toBe(isDone ? null : 'VOUCHER_ALREADY_REDEEMED')
    client.destroy()
  }
})

it('clock moves, and a snapshot is saved and restored, while a redeem is held', { tags: 'held-calls/3' }, async () => {
  const { sold, client } = await holdRedeem('committed')
  const since = server.clock.now()
  server.clock.advance('1d')
  expect(server.clock.now().getTime() - since.getTime()).toBeGreaterThanOrEqual(86_400_000)
  const during = await server.snapshot()
  expect(await server.operator.snapshots()).toMatchObject({ ok: true })
  expect(await heldCalls()).toBe(1)
  await server.restore(during)
  expect((await client.response()).status).toBe(200)
  // The snapshot has the commit of the held call.
  expect(await statusOf(sold)).toBe('redeemed')
  expect(await redeem(sold)).toMatchObject({ replayed: true })
  client.destroy()
})

it('redeem held before its work during a save is not part of the snapshot', async () => {
  const { sold, held, client } = await holdRedeem('before')
  const during = await server.snapshot()
  held.release()
  expect((await client.response()).status).toBe(200)
  await server.restore(during)
  expect(await statusOf(sold)).toBe('issued')
  client.destroy()
})

it('call with a key in use gets IDEMPOTENCY_KEY_IN_PROGRESS after 5 s', { tags: 'keys-in-flight/1' }, async () => {
  const { sold, held, client } = await holdRedeem('committed')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const again = redeem(sold)
    // The client has one timer for its call, the server one for the wait.
    while (vi.getTimerCount() < 2) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(4_999)
    expect(vi.getTimerCount()).toBe(2)
    vi.advanceTimersByTime(1)
    expect(await again).toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_PROGRESS', headers: { 'retry-after': '1' } })
  } finally {
    vi.useRealTimers()
  }
  held.release()
  expect((await client.response()).status).toBe(200)
  expect(await redeem(sold)).toMatchObject({ ok: true, replayed: true })
  client.destroy()
})

it('calls with the key of a held call are replays as soon as it is released', {
  tags: ['held-calls/3', 'keys-in-flight/1'],
}, async () => {
  const { sold, held, client } = await holdRedeem('before')
  const retries = Array.from({ length: 5 }, () => redeem(sold))
  held.release()
  expect((await Promise.all(retries)).map((it) => it.ok && it.replayed)).toEqual(Array(5).fill(true))
  expect((await client.response()).headers['idempotent-replayed']).toBeUndefined()
  client.destroy()
})

it('call with the key of a redeem held at received works; the held one replays', { tags: 'held-calls/3' }, async () => {
  const { sold, held, client } = await holdRedeem('received')
  expect(await redeem(sold)).toMatchObject({ ok: true, replayed: false })
  held.release()
  const { status, headers } = await client.response()
  expect([status, headers['idempotent-replayed']]).toEqual([200, 'true'])
  client.destroy()
})

it.each([
  ['the same voucher', 200],
  ['another voucher', 409],
] as const)('two redeems with one key that meet at received, of %s, redeem once', async (other, status) => {
  const first = await sell()
  const second = other === 'another voucher' ? { ...(await sell()), order: first.order } : first
  server.faults.add({ endpoint, kind: 'hold', at: 'received', hold_ms, times: 2 })
  const clients = await Promise.all([RawConnection.to(live.port), RawConnection.to(live.port)])
  clients[0].write(redeemBytes(first))
  clients[1].write(redeemBytes(second))
  await vi.waitUntil(async () => (await heldCalls()) === 2, 60_000)
  await server.operator.releaseCalls()
  const responses = await Promise.all(clients.map((it) => it.response()))
  expect(responses.map((it) => it.status).sort()).toEqual([200, status])
  const replays = responses.filter((it) => it.headers['idempotent-replayed'] === 'true')
  expect([replays.length, await redeemed()]).toEqual([status === 200 ? 1 : 0, 1])
  for (const it of clients) it.destroy()
})

it.each(['hold', 'hang'] as const)('invalid redeem is refused before a %s, which the next one meets', async (kind) => {
  server.faults.add({ endpoint, kind, ...(kind === 'hold' && { at: 'received' }), hold_ms: 1 })
  const invalid = { type: 'redeem_code', value: '' } as const
  expect(await redeem({ ...(await sell()), credential: invalid })).toMatchObject({ code: 'VALIDATION_FAILED' })
  const listed = await server.operator.faults()
  expect(listed).toMatchObject({ data: { items: [{ kind, left: 1 }] } })
  expect((await redeem(await sell())).ok).toBe(kind === 'hold')
})

it.each(['reset', 'destroy', 'endSide'] as const)(
  'hanging redeem sends no byte and has no effect when its client disconnects by %s',
  { tags: 'faults/1' },
  async (how) => {
    const sold = await sell()
    server.faults.add({ endpoint, kind: 'hang' })
    const end = endOfNextWait()
    const client = await RawConnection.to(live.port)
    client.write(redeemBytes(sold))
    await vi.waitUntil(async () => (await faultCount()) === 0, 60_000)
    client[how]()
    expect(await end).toBe('gone')
    await client.end()
    expect(client.received).toBe('')
    expect(await server.requests.wait({ endpoint })).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    expect(await statusOf(sold)).toBe('issued')
  },
)

it('call with the key of a hanging redeem is carried out, and the hanging one is not', async () => {
  const sold = await sell()
  server.faults.add({ endpoint, kind: 'hang' })
  const client = await RawConnection.to(live.port)
  client.write(redeemBytes(sold))
  await vi.waitUntil(async () => (await faultCount()) === 0, 60_000)
  expect(await redeem(sold)).toMatchObject({ ok: true, replayed: false })
  expect([client.received, client.closed]).toEqual(['', false])
  client.reset()
  await server.requests.wait({ endpoint, status: 503 })
  expect(await redeemed()).toBe(1)
})

it('pipelined redeems that hang end with their connection, without effect', async () => {
  const sold = await sellMany(3)
  server.faults.add({ endpoint, kind: 'hang', times: 3 })
  const client = await RawConnection.to(live.port)
  client.write(sold.map((it) => redeemBytes(it)).join(''))
  await vi.waitUntil(async () => (await faultCount()) === 0, 60_000)
  client.reset()
  for (const _ of sold) await server.requests.wait({ endpoint, status: 503 })
  expect(await redeemed()).toBe(0)
})

it.each(['reset', 'destroy', 'endSide'] as const)(
  'silent redeem commits, sends no byte and ends when its client disconnects by %s',
  { tags: 'faults/1' },
  async (how) => {
    const sold = await sell()
    server.faults.add({ endpoint, kind: 'silence' })
    const end = endOfNextWait()
    const client = await RawConnection.to(live.port)
    client.write(redeemBytes(sold))
    await vi.waitUntil(async () => (await statusOf(sold)) === 'redeemed', 60_000)
    client[how]()
    expect(await end).toBe('gone')
    await client.end()
    expect(client.received).toBe('')
    expect(await redeem(sold)).toMatchObject({ replayed: true })
    expect(await server.requests.wait({ endpoint })).toMatchObject({ status: 200, result: null })
  },
)

it.each([
  ['silent', 'reset'],
  ['silent', 'restore'],
  ['silent', 'close'],
  ['hanging', 'reset'],
  ['hanging', 'restore'],
  ['hanging', 'close'],
] as const)('%s redeem ends without a response at a %s of the server', async (what, how) => {
  const own = await startOwn()
  const empty = await own.server.snapshot()
  const sold = await sell(own.server)
  own.server.faults.add({ endpoint, kind: what === 'silent' ? 'silence' : 'hang' })
  const end = endOfNextWait()
  const client = await RawConnection.to(own.port)
  client.write(redeemBytes(sold, own.server))
  if (what === 'silent') await vi.waitUntil(async () => (await redeemed(own.server)) === 1, 60_000)
  else await vi.waitUntil(async () => (await faultCount(own.server)) === 0, 60_000)
  await (how === 'restore' ? own.server.restore(empty) : own.server[how]())
  expect(await end).toBe('suspended')
  await client.end()
  expect(client.received).toBe('')
})

// Connections to PostgreSQL set timers of their own, and the wait is the same on both engines.
it.skipIf(onPostgres).each([
  ['silence', {}, 60_000],
  ['silence', { hold_ms: 20_000 }, 20_000],
  ['hang', {}, 60_000],
  ['hang', { hold_ms: 20_000 }, 20_000],
] as const)('call with the fault %s %j ends after %i ms', { tags: 'faults/1' }, async (kind, limit, ms) => {
  server.faults.add({ endpoint: 'templates.list', kind, ...limit })
  const end = endOfNextWait()
  const client = await RawConnection.to(live.port)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    client.write(getBytes(contract.templates.list.path, bearerLine(server.token)))
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(ms - 1)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1)
    expect(await end).toBe('time')
  } finally {
    vi.useRealTimers()
  }
  await client.end()
  expect(client.received).toBe('')
})

it('encrypted redeem can be held at each place, killed, and silenced', async () => {
  const own = await startOwn({ secure: 'required' })
  const { baseUrl, token } = own.server
  // On sockets, beside the client of the server that has none.
  const remote = createClient({ baseUrl, token, secure: { mode: 'required' }, retry: { tries: 1 } })
  for (const client of [own.server.client, remote]) {
    for (const at of places) {
      const { credential, order: idempotencyKey } = await sell(own.server)
      const held = await own.server.hold(endpoint, { at, hold_ms })
      const sale = client.vouchers.redeem({ credential }, { idempotencyKey })
      expect(await held.call).toMatchObject({ endpoint, at })
      held.release()
      expect(await sale).toMatchObject({ ok: true, replayed: false })
      const killed = await sell(own.server)
      const again = await own.server.hold(endpoint, { at, hold_ms })
      const program = new AbortController()
      const call = { idempotencyKey: killed.order, signal: program.signal }
      const lost = client.vouchers.redeem({ credential: killed.credential }, call)
      await again.call
      program.abort()
      expect(await lost).toMatchObject({ code: 'ABORTED', outcomeUnknown: true })
      await vi.waitUntil(async () => (await heldCalls(own.server)) === 0, 60_000)
      expect(await statusOf(killed, own.server)).toBe(isBeforeWork(at) ? 'issued' : 'redeemed')
    }
    const silenced = await sell(own.server)
    own.server.faults.add({ endpoint, kind: 'silence' })
    const end = endOfNextWait()
    const program = new AbortController()
    const call = { idempotencyKey: silenced.order, signal: program.signal }
    const sale = client.vouchers.redeem({ credential: silenced.credential }, call)
    await vi.waitUntil(async () => (await statusOf(silenced, own.server)) === 'redeemed', 60_000)
    program.abort()
    expect(await sale).toMatchObject({ code: 'ABORTED' })
    expect(await end).toBe('gone')
    await own.server.requests.wait({ endpoint, idempotencyKey: silenced.order, result: null })
    const hanging = await sell(own.server)
    own.server.faults.add({ endpoint, kind: 'hang', hold_ms: 1 })
    expect(await redeem(hanging, { ...own.server, client })).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(await statusOf(hanging, own.server)).toBe('issued')
    vi.restoreAllMocks()
  }
})

it('hold and silence of a seed affect calls again after a reset', { tags: 'faults/2' }, async () => {
  const faults: NewFault[] = [
    { endpoint: 'templates.list', kind: 'hold', at: 'before', hold_ms },
    { endpoint: 'vouchers.verify', kind: 'silence' },
  ]
  const { server: seeded } = await startOwn({ seed: { ...defaultSeed, faults } })
  for (const _ of [1, 2]) {
    const list = seeded.client.templates.list()
    await vi.waitUntil(async () => (await heldCalls(seeded)) === 1, 60_000)
    await seeded.operator.releaseCalls()
    expect(await list).toMatchObject({ ok: true })
    const { credential } = await sell(seeded)
    const silent = seeded.client.vouchers.verify({ credential })
    await vi.waitUntil(async () => {
      const listed = await seeded.operator.faults()
      return listed.ok && listed.data.items.length === 0
    }, 60_000)
    await seeded.reset()
    expect(await silent).toMatchObject({ ok: false, code: 'NETWORK_ERROR' })
  }
})

it.each(['hold', 'error'] as const)('%s affects calls by nth, share and match', { tags: 'faults/2' }, async (kind) => {
  const fault = kind === 'hold' ? ({ kind, at: 'before', hold_ms: 1 } as const) : { kind }
  const affected = async (selection: object, calls: number) => {
    await server.reset()
    const sold = await sellMany(3)
    server.faults.add({ endpoint: 'vouchers.verify', ...fault, ...selection })
    const seen: boolean[] = []
    const begin = vi.spyOn(Waits.prototype, 'begin')
    for (let n = 0; n < calls; n++) {
      const before = begin.mock.calls.length
      const { ok } = await server.client.vouchers.verify({ credential: (sold[n % 3] as Sold).credential })
      seen.push(kind === 'hold' ? begin.mock.calls.length > before : !ok)
    }
    begin.mockRestore()
    return seen
  }
  expect(await affected({ nth: 2, times: 2 }, 4)).toEqual([false, true, true, false])
  expect(await affected({ share: 1 }, 3)).toEqual([true, true, true])
  const seeded = await affected({ share: 0.5, seed: 1 }, 20)
  expect(seeded).toContain(true)
  expect(await affected({ share: 0.5, seed: 1 }, 20)).toEqual(seeded)
  expect(await affected({ match: { path: '/none' } }, 1)).toEqual([false])
})

it('calls with GET and HEAD, of console and bot, can be held at each place', async () => {
  for (const at of places) {
    const held = await server.hold('templates.list', { at, hold_ms })
    const client = await RawConnection.to(live.port)
    client.write(getBytes(contract.templates.list.path, bearerLine(server.token)).replace('GET', 'HEAD'))
    await held.call
    held.release()
    await vi.waitUntil(() => client.received.endsWith('\r\n\r\n'), 60_000)
    expect(client.received).toMatch(/^HTTP\/1\.1 200 [^]*content-length: \d\d+\r\n/i)
    client.destroy()
    for (const [endpoint, call] of [
      ['apps.list', () => server.client.apps.list()],
      ['bots.updates', () => server.client.bots.updates()],
    ] as const) {
      const other = await server.hold(endpoint, { at, hold_ms })
      const listed = call()
      await other.call
      other.release()
      expect(await listed).toMatchObject({ ok: true })
    }
  }
})

it('call that the operator makes for an application can be held', async () => {
  for (const at of places) {
    const held = await server.hold('templates.list', { at, hold_ms })
    const made = server.operator.callAsApp({ appId: 'app_shop', endpoint: 'templates.list', input: {} })
    await held.call
    held.release()
    expect(await made).toMatchObject({ ok: true, data: { status: 200 } })
  }
})

it('removed fault still holds the call that it has chosen, until the operator releases it', async () => {
  const { client } = await holdRedeem('committed')
  server.faults.clear()
  expect(await heldCalls()).toBe(1)
  expect(await server.operator.releaseCalls()).toMatchObject({ data: { released: 1 } })
  expect(await server.operator.releaseCalls()).toMatchObject({ data: { released: 0 } })
  expect((await client.response()).status).toBe(200)
  client.destroy()
})

it.each(places)('pipelined redeems that are held at %s get their responses in order', async (at) => {
  const { client, sold } = await pipelineHeld(20, at)
  await server.operator.releaseCalls()
  const vouchers: unknown[] = []
  for (const _ of sold) vouchers.push((await client.response()).data)
  expect(vouchers).toMatchObject(sold.map(({ id }) => ({ voucherId: id })))
  client.destroy()
})

it.each(places.flatMap((at) => (['reset', 'destroy'] as const).map((how) => [at, how] as const)))(
  'pipelined redeems that are held at %s end when their connection ends by %s',
  async (at, how) => {
    const warnings: Error[] = []
    const onWarning = (it: Error) => warnings.push(it)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const { client, sold } = await pipelineHeld(20, at)
    client[how]()
    await vi.waitUntil(async () => (await heldCalls()) === 0, 60_000)
    expect(await redeemed()).toBe(isBeforeWork(at) ? 0 : sold.length)
    for (const _ of sold) await server.requests.wait({ endpoint, status: isBeforeWork(at) ? 503 : 200 })
    expect(warnings).toEqual([])
  },
)

it.each(places.flatMap((at) => (['close', 'restore', 'reset'] as const).map((how) => [at, how] as const)))(
  '100 redeems held at %s get their responses at a %s of the server',
  async (at, how) => {
    const own = how === 'close' ? await startOwn() : live
    const empty = await own.server.snapshot()
    const clients = await holdMany(100, at, own)
    await (how === 'restore' ? own.server.restore(empty) : own.server[how]())
    const responses = await Promise.all(clients.map((it) => it.response()))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    if (how === 'close') await Promise.all(clients.map((it) => it.end()))
    else expect([await redeemed(), await heldCalls()]).toEqual([0, 0])
    for (const it of clients) it.destroy()
  },
)

it('release at the time that hold_ms ends has one effect', async () => {
  for (let turns = 0; turns < 40; turns++) {
    const { held, client } = await holdRedeem('committed', { hold_ms: 1 })
    for (let turn = 0; turn < turns % 4; turn++) await new Promise((resolve) => setImmediate(resolve))
    held.release()
    held.release()
    expect((await client.response()).status).toBe(200)
    client.destroy()
  }
  expect([await redeemed(), await heldCalls()]).toEqual([40, 0])
})
