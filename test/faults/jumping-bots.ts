import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../src/contract/index.js'
import { pollOf, say } from '../support/server/chats.js'
import { callerOf } from '../support/server/client.js'
import type { Tenant, TestBot } from '../support/server/tenant.js'
import type { Facts } from './campaign.js'
import type { Sometimes } from './sometimes.js'

const HOUR = 3_600_000
const POLL_S = 1
/** Maximum duration of a poll with a timeout of 1 s: the rest is reserve for a busy machine. */
const POLL_MS_MAX = 20_000
/** Maximum delay of a delivery: the worker checks every 10 s for due times that a clock change made implausible. */
const DELIVERED_MS_MAX = 30_000
/** How long the slow receiver responds: longer than the interval at which the worker checks its leases. */
const HELD_MS = 12_000

/**
 * Tests two bots under clock jumps: one polls, one has a webhook whose receiver fails or is slow.
 * @param broken list to which violations are added
 */
export async function jumpingBots(broken: string[], sometimes: Sometimes) {
  /** Number of received delivery attempts by update id. */
  const attempts = new Map<number, number>()
  let mode: 'fails' | 'takes' | 'holds' = 'fails'
  const receiver = createServer(async (request, response) => {
    const id = Number(request.headers['x-platform-update-id'])
    attempts.set(id, (attempts.get(id) ?? 0) + 1)
    request.resume()
    if (mode === 'holds') await wait(HELD_MS)
    response.writeHead(mode === 'fails' ? 503 : 204).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  let polling: TestBot
  let hooked: TestBot
  let chatId = ''
  let confirmed = 0
  let jumps = 0

  const ping = async (tenant: Tenant) => {
    const { data } = await tenant.operator(contract.platform.addUpdate, { botId: hooked.id, type: 'ping' })
    return (data as { update_id: number }).update_id
  }
  const deliveries = async (tenant: Tenant) =>
    (await tenant.console(contract.webhook.deliveries, { botId: hooked.id, limit: 100 })).data.items

  /** Waits until the updates are delivered; returns the milliseconds that this took. */
  const delivered = async (tenant: Tenant, ids: readonly number[], what: string) => {
    const startedAt = performance.now()
    let left = [...ids]
    while (left.length > 0 && performance.now() - startedAt < DELIVERED_MS_MAX) {
      await wait(100)
      const done = (await deliveries(tenant)).filter(({ status }) => status === 'delivered').map((it) => it.update_id)
      left = left.filter((id) => !done.includes(id))
    }
    if (left.length > 0) broken.push(`${what}: ${left.length} not delivered within ${DELIVERED_MS_MAX / 1000} s`)
    return Math.round(performance.now() - startedAt)
  }

  return {
    port,
    async open(tenant: Tenant) {
      polling = await tenant.bot()
      hooked = await tenant.bot()
      chatId = (await tenant.operator(contract.platform.createChat, { bot_id: polling.id, user_id: 'user' })).data.id
      await tenant.console(contract.webhook.set, { botId: hooked.id, url: `http://127.0.0.1:${port}/` })
      confirmed = Math.max(0, ...(await pollOf(polling)).map((it) => it.update_id))
    },

    /** Requires after a jump that update ids continue and that a poll without updates ends in time. */
    async meet(tenant: Tenant, round: string) {
      jumps += 1
      const bot = { ...polling, call: callerOf(tenant.place.send, polling.token) }
      for (let n = 0; n < 3; n++) await say(tenant, { id: chatId }, `${round} ${n}`)
      const ids = (await pollOf(bot, { offset: confirmed + 1 })).map((it) => it.update_id)
      const expected = [1, 2, 3].map((it) => confirmed + it)
      if (ids.join() !== expected.join()) broken.push(`${round}: polled ${ids}, not ${expected}`)
      confirmed += 3
      const startedAt = performance.now()
      const empty = await pollOf(bot, { offset: confirmed + 1, timeout: POLL_S })
      const ms = performance.now() - startedAt
      if (empty.length > 0 || ms < POLL_S * 900 || ms > POLL_MS_MAX) {
        broken.push(`${round}: a poll of ${POLL_S} s found ${empty.length} in ${Math.round(ms)} ms`)
      }
    },

    /** Requires that deliveries which fail while the clock is ahead are sent, at most three times, after it is back. */
    async close(tenant: Tenant, setClock: (ms: number) => Promise<void>, quick: boolean): Promise<Facts> {
      await setClock(240 * HOUR)
      const stranded = await Promise.all(Array.from({ length: 20 }, () => ping(tenant)))
      const late = performance.now() + DELIVERED_MS_MAX
      while ((await deliveries(tenant)).some(({ status }) => status !== 'failed') && performance.now() < late) {
        await wait(100)
      }
      mode = 'takes'
      await setClock(0)
      const slowest = await delivered(tenant, stranded, 'after a jump back')
      for (const id of stranded) {
        const count = attempts.get(id) ?? 0
        if (count > 1) sometimes.note('a delivery was retried after the clock was set back')
        if (count > 3) broken.push(`update ${id} was sent ${count} times`)
      }
      if (!quick) {
        mode = 'holds'
        const held = await ping(tenant)
        while (!attempts.has(held)) await wait(20)
        await setClock(HOUR)
        await delivered(tenant, [held], 'in flight while the clock jumps')
        if (attempts.get(held) === 1) sometimes.note('a delivery was in flight while the clock jumped')
        else broken.push(`what was in flight was sent ${attempts.get(held)} times`)
      }
      receiver.close()
      receiver.closeAllConnections()
      return { 'delivered after a jump back, ms': slowest, 'polls in time': jumps }
    },
  }
}
