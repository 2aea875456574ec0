import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startServer } from '../../src/testing/index.js'
import type { Snapshot, TestServer } from '../../src/testing/types.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ clock: '2027-03-01T12:00:00Z' })
})
afterEach(() => server.reset())
afterAll(() => server.close())

let issued = 0
async function issue() {
  const order = { template_id: 'tpl_coffee', external_issue_id: `order-${++issued}`, recipient_user_id: 'user-1' }
  const result = await server.client.vouchers.issue(order)
  if (!result.ok) throw new Error(result.code)
  return {
    type: 'redeem_code',
    value: result.data.credentials.find((it) => it.type === 'redeem_code')?.value ?? '',
  } as const
}

const templateOf = async () => {
  const listed = await server.client.templates.list()
  return listed.ok ? listed.data.items[0] : undefined
}

test('reset restores the seed and the time of the start, without vouchers and faults', async () => {
  const credential = await issue()
  server.faults.add({ endpoint: 'vouchers.verify', kind: 'error' })
  server.clock.advance('400d')
  await server.reset()
  expect(await templateOf()).toMatchObject({ id: 'tpl_coffee', issuedCount: 0 })
  expect(await server.client.vouchers.verify({ credential })).toMatchObject({ code: 'VOUCHER_NOT_FOUND' })
  expect(server.clock.now().toISOString()).toMatch(/^2027-03-01/)
})

test('restore returns to a snapshot and its time as often as needed', async () => {
  const credential = await issue()
  const at = await server.snapshot()
  for (const _ of [1, 2]) {
    server.clock.advance('31d')
    expect(await server.client.vouchers.redeem({ credential })).toMatchObject({ code: 'VOUCHER_EXPIRED' })
    await server.restore(at)
    expect(server.clock.now().getTime() - at.time.getTime()).toBeLessThan(86_400_000)
    expect(await server.client.vouchers.redeem({ credential })).toMatchObject({ ok: true })
    await server.restore(at)
  }
})

test('receive after a reset returns updates of the new state only', async () => {
  await issue()
  await server.receive('voucher_issued')
  await issue()
  await server.reset()
  await issue()
  expect(await server.receive('voucher_issued')).toMatchObject({ update_id: 1 })
  await expect(server.receive('voucher_issued', { within: 1 })).rejects.toMatchObject({ code: 'UPDATE_NOT_RECEIVED' })
})

test('receive after a restore returns again the updates that had arrived at the snapshot', async () => {
  await issue()
  await issue()
  await server.receive('voucher_issued')
  const at = await server.snapshot()
  const second = await server.receive('voucher_issued')
  await server.restore(at)
  expect(await server.receive('voucher_issued')).toEqual(second)
})

test('restore refuses an argument that is not a snapshot of this server', async () => {
  const other = await startServer({ listen: false })
  const foreign = await other.snapshot()
  await other.close()
  for (const wrong of [foreign, { time: new Date() }, 'test-1', undefined]) {
    await expect(server.restore(wrong as Snapshot)).rejects.toThrow(/^snapshot must be a snapshot of this server, got /)
  }
  await expect(other.reset()).rejects.toMatchObject({ code: 'SERVER_CLOSED' })
  await expect(other.snapshot()).rejects.toMatchObject({ code: 'SERVER_CLOSED' })
  await expect(other.restore(foreign)).rejects.toMatchObject({ code: 'SERVER_CLOSED' })
})

test('receive that waits during a reset gets an update that is made afterwards', async () => {
  const waiting = server.receive('ping')
  await server.receive('ping', { within: 0 }).catch(() => {})
  await server.reset()
  await server.operator.addUpdate({ botId: 'bot_shop', type: 'ping' })
  expect(await waiting).toMatchObject({ type: 'ping' })
})

test('reset, restore and receive that a close interrupts say that the server was closed', async () => {
  const closing = await startServer({ listen: false })
  const saved = await closing.snapshot()
  const calls = [closing.receive('ping'), closing.reset(), closing.restore(saved), closing.snapshot()]
  const settled = Promise.allSettled(calls)
  await closing.close()
  const refused = (await settled).flatMap((it) => (it.status === 'rejected' ? [it.reason.code] : []))
  expect(new Set(refused)).toEqual(new Set(['SERVER_CLOSED']))
})

test('released snapshot can no longer be restored, and releasing it again changes nothing', async () => {
  const [released, kept] = [await server.snapshot(), await server.snapshot()]
  await released.release()
  await released.release()
  await expect(server.restore(released)).rejects.toThrow(/^snapshot must be a snapshot of this server, got /)
  await server.restore(kept)
})

test('vouchers of a seed have codes from a repeated issue and return with a reset', async () => {
  const voucher = { template_id: 'tpl_coffee', recipient_user_id: 'user-1' }
  const statuses = ['issued', 'redeemed', 'reversed', 'expired'] as const
  const planted = statuses.map((status) => ({ ...voucher, status, external_issue_id: status }))
  const [application, ...others] = server.seed.applications ?? []
  if (application === undefined) throw new Error('the default seed has an application')
  const seed = { ...server.seed, applications: [{ ...application, vouchers: planted }, ...others] }
  await using seeded = await startServer({ seed, clock: '2027-03-01T12:00:00Z', listen: false })
  const { vouchers, templates } = seeded.client
  for (const _ of ['start', 'reset']) {
    const listed = await templates.list()
    expect(listed.ok && listed.data.items[0]).toMatchObject({ issuedCount: 4 })
    const codes = []
    for (const { status, ...order } of planted) {
      const issued = await vouchers.issue(order)
      if (!issued.ok) throw new Error(issued.code)
      const [credential] = issued.data.credentials
      if (credential === undefined) throw new Error('the issue has no credential')
      const redeemed = await vouchers.redeem({ credential })
      codes.push(`${status}: ${issued.data.status} ${redeemed.ok ? 'ok' : redeemed.code}`)
    }
    expect(codes).toEqual([
      'issued: issued ok',
      'redeemed: redeemed VOUCHER_ALREADY_REDEEMED',
      'reversed: issued ok',
      'expired: expired VOUCHER_EXPIRED',
    ])
    await seeded.reset()
  }
})
