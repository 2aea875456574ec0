import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { startServer } from '../../src/testing/index.js'
import type { HoldOptions, StartOptions, TestServer } from '../../src/testing/types.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ listen: false })
})
afterEach(() => server.reset())
afterAll(() => server.close())

async function start(options: StartOptions = {}) {
  const started = await startServer(options)
  onTestFinished(() => started.close())
  return started
}

const list = () => server.client.templates.list()
const faults = async () => {
  const listed = await server.operator.faults()
  return listed.ok ? { added: listed.data.items.length, held: listed.data.held.length } : undefined
}
const tick = () => new Promise((resolve) => setImmediate(resolve))

test('hold resolves with the held call, which goes on after its release', async () => {
  const held = await server.hold('templates.list')
  const listed = list()
  const call = await held.call
  expect(call).toEqual({
    endpoint: 'templates.list',
    at: 'committed',
    requestId: expect.stringMatching(/^req_/),
    time: expect.any(Date),
  })
  expect(await faults()).toEqual({ added: 0, held: 1 })
  // Each read of the member gives the same call.
  expect(await held.call).toEqual(call)
  held.release()
  expect(await listed).toMatchObject({ ok: true, requestId: call.requestId })
  expect(await held.call).toEqual(call)
})

test('hold with match and nth holds that call only, at the given place', async () => {
  const options = { template_id: 'tpl_coffee', recipient_user_id: 'user-1' }
  const issue = (external_issue_id: string) => server.client.vouchers.issue({ ...options, external_issue_id })
  const held = await server.hold('vouchers.issue', {
    at: 'before',
    nth: 2,
    match: { body: { recipient_user_id: 'user-1' } },
  })
  expect(await issue('order-1')).toMatchObject({ ok: true })
  const second = issue('order-2')
  expect(await held.call).toMatchObject({ at: 'before' })
  expect(await issue('order-3')).toMatchObject({ ok: true })
  expect(await server.vouchers({ external_issue_id: 'order-2' })).toEqual([])
  held.release()
  expect(await second).toMatchObject({ ok: true })
})

test('two holds of an endpoint hold one call each, and are released in any order', async () => {
  const [first, second] = [await server.hold('templates.list'), await server.hold('templates.list')]
  const calls = [list(), list()]
  const ids = [(await first.call).requestId, (await second.call).requestId]
  expect(new Set(ids).size).toBe(2)
  second.release()
  expect(await calls[1]).toMatchObject({ requestId: ids[1] })
  expect(await faults()).toEqual({ added: 0, held: 1 })
  first.release()
  expect(await calls[0]).toMatchObject({ requestId: ids[0] })
})

test('release before a call removes the hold, and a second release changes nothing', async () => {
  const held = await server.hold('templates.list')
  held.release()
  held.release()
  expect(await faults()).toEqual({ added: 0, held: 0 })
  expect(await list()).toMatchObject({ ok: true })
  await expect((await server.hold('templates.list', { within: 0 })).call).rejects.toMatchObject({
    code: 'CALL_NOT_RECEIVED',
    message: 'Within 0 ms no call of templates.list was held',
  })
})

test('release while the call is on its way to its place lets it go on from there', async () => {
  for (let ticks = 0; ticks < 20; ticks++) {
    const external_issue_id = `order-${ticks}`
    const held = await server.hold('vouchers.issue', { hold_ms: 3_600_000 })
    const order = { template_id: 'tpl_coffee', recipient_user_id: 'user-1', external_issue_id }
    const issued = server.client.vouchers.issue(order)
    for (let n = 0; n < ticks; n++) await tick()
    held.release()
    expect(await issued).toMatchObject({ ok: true })
  }
  expect(await faults()).toEqual({ added: 0, held: 0 })
})

test('call goes on after hold_ms without a release', async () => {
  const held = await server.hold('templates.list', { hold_ms: 1 })
  expect(await list()).toMatchObject({ ok: true })
  expect(await held.call).toMatchObject({ endpoint: 'templates.list' })
  held.release()
})

test.each([
  ['with a port', {}],
  ['without a port', { listen: false }],
  ['encrypted', { secure: 'required' }],
] as const)('call of the client that is aborted or late ends its hold, %s', async (_, options) => {
  const on = await start(options)
  const order = { template_id: 'tpl_coffee', recipient_user_id: 'user-1' }
  for (const at of ['received', 'before', 'committed', 'answered'] as const) {
    const program = new AbortController()
    const held = await on.hold('vouchers.issue', { at })
    const again = { idempotencyKey: at, signal: program.signal }
    const lost = on.client.vouchers.issue({ ...order, external_issue_id: at }, again)
    await held.call
    program.abort()
    expect(await lost).toMatchObject({ code: 'ABORTED', outcomeUnknown: true })
    const repeated = await on.client.vouchers.issue({ ...order, external_issue_id: at }, { idempotencyKey: at })
    expect(repeated).toMatchObject({ ok: true, replayed: at === 'committed' || at === 'answered' })
  }
  await on.hold('templates.list')
  expect(await on.client.templates.list({}, { timeoutMs: 200 })).toMatchObject({ code: 'TIMEOUT' })
  await vi.waitUntil(async () => {
    const listed = await on.operator.faults()
    return listed.ok && listed.data.held.length === 0
  }, 60_000)
})

test.each(['silence', 'hang'] as const)(
  'call with the fault %s ends at its timeout, or at a reset as a lost connection',
  async (kind) => {
    server.faults.add({ endpoint: 'templates.list', kind, times: 2 })
    expect(await server.client.templates.list({}, { timeoutMs: 1 })).toMatchObject({ code: 'TIMEOUT' })
    const lost = list()
    await vi.waitUntil(async () => (await faults())?.added === 0, 60_000)
    await server.reset()
    expect(await lost).toMatchObject({ ok: false, code: 'NETWORK_ERROR' })
  },
)

test('close lets held calls go on, and refuses holds and waits for them', async () => {
  const closing = await startServer()
  const held = await closing.hold('templates.list')
  const listed = closing.client.templates.list()
  await held.call
  const other = (await closing.hold('apps.list')).call
  const closed = { code: 'SERVER_CLOSED' }
  const refused = expect(other).rejects.toMatchObject(closed)
  await closing.close()
  await refused
  expect(await listed).toMatchObject({ ok: true })
  await expect(closing.hold('templates.list')).rejects.toMatchObject(closed)
  held.release()
})

const wrong: readonly (readonly [options: object | null, kind: typeof TypeError, text: string])[] = [
  [null, TypeError, 'options must be an object, got null'],
  [{ At: 'before' }, TypeError, 'options.At is unknown: did you mean at?'],
  [{ times: 2 }, TypeError, 'options.times is unknown'],
  [{ at: 'after' }, RangeError, 'fault.at must be one of received, before, committed, answered'],
  [{ nth: 0 }, RangeError, 'fault.nth must be an integer from 1 to 1000000'],
  [{ hold_ms: 0 }, RangeError, 'fault.hold_ms must be an integer from 1 to 3600000'],
  [{ match: {} }, TypeError, 'fault.match needs a path or members of body'],
  [{ within: -1 }, RangeError, 'options.within must be an integer from 0'],
]

test.each(wrong)('hold refuses the options %j', async (options, kind, text) => {
  const refused = expect(server.hold('templates.list', options as HoldOptions)).rejects
  await refused.toThrow(kind)
  await expect(server.hold('templates.list', options as HoldOptions)).rejects.toThrow(text)
  expect(await faults()).toEqual({ added: 0, held: 0 })
})

test.each(['platform.faults', 'vouchers.redem', 'deliveries'])('hold refuses the endpoint %s', async (endpoint) => {
  await expect(server.hold(endpoint as 'templates.list')).rejects.toThrow(/^fault\.(?:endpoint|kind) must be /)
})
