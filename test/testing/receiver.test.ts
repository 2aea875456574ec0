import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startServer } from '../../src/testing/index.js'
import type { StartOptions, TestServer } from '../../src/testing/types.js'
import { listen } from '../support/listen.js'
import { until } from '../support/server/deliveries.js'
import { seed } from '../support/server/seed.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ listen: false })
})
afterAll(() => server.close())

async function start(options: StartOptions): Promise<TestServer> {
  const started = await startServer(options)
  onTestFinished(() => started.close())
  return started
}

let issued = 0
const issue = ({ client }: TestServer) =>
  client.vouchers.issue({ template_id: 'tpl_coffee', external_issue_id: `order-${++issued}`, recipient_user_id: 'u' })

const ping = ({ operator }: TestServer, botId = 'bot_shop') => operator.addUpdate({ botId, type: 'ping' })

async function untilDelivered(place: TestServer, count: number): Promise<void> {
  await untilListed(place, 'delivered', count)
}

async function untilListed({ client }: TestServer, status: 'delivered' | 'failed', count: number): Promise<void> {
  await until(async () => {
    const listed = await client.webhook.deliveries({ botId: 'bot_shop', status })
    return listed.ok && listed.data.items.length === count
  })
}

test('receive resolves to an update that was made before the receiver first listened', async () => {
  const voucher = await issue(server)
  const update = await server.receive('voucher_issued')
  expect(update).toMatchObject({
    type: 'voucher_issued',
    voucher_issued: { voucher: { id: voucher.ok && voucher.data.id } },
  })
})

test('receive returns updates of one type in order and each once', async () => {
  const waiting = [server.receive('voucher_issued'), server.receive('voucher_issued')]
  for (const _ of waiting) await issue(server)
  await ping(server)
  const ids = (await Promise.all(waiting)).map((it) => it.update_id)
  expect(ids[1]).toBe((ids[0] as number) + 1)
  expect((await server.receive('ping')).update_id).toBe((ids[1] as number) + 1)
  const late = await server.receive('voucher_issued', { within: 1 }).catch((error: unknown) => error)
  expect(late).toMatchObject({ code: 'UPDATE_NOT_RECEIVED' })
})

test('receive that runs out of time lists arrived and returned updates of each bot', async () => {
  const place = await start({ listen: false })
  const nothing = await place.receive('ping', { within: 0 }).catch((error: Error) => error.message)
  expect(nothing).toBe('No ping arrived for bot_shop within 0 ms. No delivery arrived.')
  await issue(place)
  await place.receive('voucher_issued')
  await ping(place)
  await untilDelivered(place, 2)
  const something = await place.receive('voucher_redeemed', { within: 1 }).catch((error: Error) => error.message)
  expect(something).toBe(
    'No voucher_redeemed arrived for bot_shop within 1 ms. Arrived: voucher_issued (update 1, returned before), ping (update 2).',
  )
})

test('receive names the update types of a bot that does not get the type', async () => {
  const place = await start({ listen: false, seed })
  await issue(place)
  const missed = await place.receive('voucher_issued', { within: 1 }).catch((error: unknown) => error)
  expect(String(missed)).toContain('bot_coffee did not select voucher_issued before')
  await issue(place)
  expect(await place.receive('voucher_issued')).toMatchObject({ update_id: 1 })
})

test('receive takes the bot of its option, and refuses a bot that cannot receive updates', async () => {
  const place = await start({ listen: false, seed })
  await ping(place, 'bot_coffee')
  expect(await place.receive('ping', { bot: 'bot_coffee' })).toMatchObject({ type: 'ping' })
  await expect(place.receive('ping', { bot: 'bot_new' })).rejects.toMatchObject({ code: 'BOT_UNUSABLE' })
  await expect(place.receive('ping', { bot: 'bot_none' })).rejects.toMatchObject({ code: 'BOT_UNUSABLE' })
})

test('receive leaves the webhook that the program under test has set', async () => {
  const place = await start({ listen: false })
  const received: string[] = []
  const shop = createServer(async (request, response) => {
    for await (const chunk of request) received.push(String(chunk))
    response.end()
  })
  const url = `http://127.0.0.1:${await listen(shop)}/hook`
  expect(await place.client.webhook.set({ botId: 'bot_shop', url })).toMatchObject({ ok: true })
  const refused = await place.receive('ping').catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'BOT_UNUSABLE', message: expect.stringContaining(new URL(url).origin) })
  await ping(place)
  await untilDelivered(place, 1)
  expect(received).toEqual([expect.stringContaining('"type":"ping"')])
})

test('receive refuses a forged delivery and reports it', async () => {
  const place = await start({ listen: false })
  await place.receive('ping', { within: 0 }).catch(() => {})
  const info = await place.client.webhook.info()
  const url = info.ok ? (info.data.url as string) : ''
  const forged = await fetch(url, { method: 'POST', body: '{"update_id":1,"type":"ping"}' })
  expect(forged.status).toBe(401)
  const report = await place.receive('ping', { within: 0 }).catch((error: Error) => error.message)
  expect(report).toContain('Arrived: a delivery that was refused (missing_header)')
})

test.each(['forged', 'stale'] as const)(
  'receive names the planted fault %s of a delivery that it refused',
  async (kind) => {
    const place = await start({ listen: false })
    place.faults.add({ endpoint: 'deliveries', kind })
    const refused = place.receive('ping', { within: 1 }).catch((error: Error) => error.message)
    await ping(place)
    await refused
    await until(async () => {
      const report = await place.receive('ping', { within: 0 }).catch((error: Error) => error.message)
      return String(report).includes(`, planted fault ${kind})`)
    })
    // The next attempt counts from when the server has the result of this one.
    await untilListed(place, 'failed', 1)
    await place.clock.advance('1m')
    expect(await place.receive('ping')).toMatchObject({ type: 'ping' })
  },
)

test('receive returns the update of a lost and of a duplicate delivery once', async () => {
  const place = await start({ listen: false })
  place.faults.add({ endpoint: 'deliveries', kind: 'duplicate' })
  await ping(place)
  expect(await place.receive('ping')).toMatchObject({ update_id: 1 })
  place.faults.add({ endpoint: 'deliveries', kind: 'lost' })
  await ping(place)
  await until(async () => {
    const listed = await place.client.webhook.deliveries({ botId: 'bot_shop', status: 'failed' })
    return listed.ok && listed.data.items.length === 1
  })
  const none = await place.receive('ping', { within: 0 }).catch((error: Error) => error.message)
  expect(none).toContain('No ping arrived')
  await place.clock.advance('1m')
  expect(await place.receive('ping')).toMatchObject({ update_id: 2 })
})

test('receive that waits is rejected when the server closes', async () => {
  const place = await start({ listen: false })
  const waiting = place.receive('ping').catch((error: unknown) => error)
  await place.receive('ping', { within: 0 }).catch(() => {})
  await place.close()
  expect(await waiting).toMatchObject({ code: 'SERVER_CLOSED' })
})
