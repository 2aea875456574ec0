import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, cache } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { fetchJson } from './prepare.js'
import { rowOf } from './row.js'

const CONNECTIONS = 40
const CHATS = 100

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/**
 * P9: signed deliveries per second of chat messages, each with its delivery, attempt and update rows, compared with
 * undici posting the same bodies to the same receiver: sequentially, which is the reference, and over as many
 * connections as the deliveries use. The first round warms up and does not count.
 * @param {{ rounds: number, count: number, profile?: string, say: (line: string) => void }} options
 */
export async function measureDeliveries({ rounds, count, profile, say }) {
  const [serverFile, posterFile] = await Promise.all([bundle('server-under-test'), bundle('poster')])
  const dataDir = mkdtempSync(join(cache, 'data-'))
  const log = openSync(join(dataDir, 'server.log'), 'a')
  const receiver = startChild(here('programs/receiver.js'))
  const { port } = await receiver.nextMessage()
  const server = startChild(serverFile, [dataDir, String(port)], { stderr: log })
  const poster = startChild(posterFile)
  const samples = { deliveries: [], loop: [], pool: [] }
  try {
    const { baseUrl, operatorKeyFile } = await server.nextMessage()
    const platform = operatorOf(baseUrl, readFileSync(operatorKeyFile, 'utf8').trim())
    for (let round = 0; round <= rounds; round++) {
      const bot = await prepareBot(baseUrl, platform, `bench_${round}`)
      await inParallel(count, (n) =>
        platform(`/chats/${bot.chats[n % CHATS]}/messages`, { text: `Is table ${n} still free this evening?` }),
      )
      const waiting = await fetchJson(`${baseUrl}/api/v1/bots/getUpdates`, { token: bot.token, body: {} })
      const bodies = waiting.items.map((it) => JSON.stringify(it))

      const deliver = async () => {
        const profiled = profile !== undefined && round === rounds
        if (profiled) await server.ask('profile')
        const measured = receiver.ask({ count })
        await bot.setWebhook({ url: `http://127.0.0.1:${port}/hook`, max_connections: CONNECTIONS })
        // The CPU time starts after the server inserted the delivery rows; a few deliveries have been sent by then.
        const before = (await server.ask('cpu')).cpu
        const { perSecond, busy } = await measured
        const after = (await server.ask('cpu')).cpu
        if (profiled) await server.ask({ profileTo: join(profile, 'deliveries.cpuprofile') })
        await requireDelivered(baseUrl, bot, count)
        return { perSecond, busy, cpu: (after.user + after.system - before.user - before.system) / count }
      }
      const post = async (connections) => {
        const measured = receiver.ask({ count })
        await poster.ask({ port, connections, bodies, count })
        return await measured
      }
      const parts = { deliveries: deliver, loop: () => post(1), pool: () => post(CONNECTIONS) }
      const names = Object.keys(parts)
      const measured = {}
      for (const name of round % 2 === 0 ? names.reverse() : names) measured[name] = await parts[name]()
      if (round > 0) for (const [name, sample] of Object.entries(measured)) samples[name].push(sample)
      const rates = Object.entries(measured).map(
        ([name, { perSecond, busy }]) => `${name} ${Math.round(perSecond)}/s (receiver ${Math.round(busy * 100)} %)`,
      )
      const cpu = `server ${measured.deliveries.cpu.toFixed(0)} us a delivery`
      say(`${round === 0 ? 'warm-up' : `round ${round}`}: ${rates.join('  ')}  ${cpu}`)
    }
  } finally {
    await Promise.all([server.stop(), receiver.stop(), poster.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  }
  const rate = (name) => median(samples[name].map((it) => it.perSecond))
  const row = (reference, against, target) =>
    rowOf({
      id: 'P9',
      what: `webhook deliveries, signed, with their rows, ${CONNECTIONS} connections`,
      value: rate('deliveries'),
      reference: rate(reference),
      target,
      unit: 'deliveries/s',
      against,
      runs: rounds,
    })
  return [row('loop', 'undici posting them in a loop', 0.8), row('pool', `undici over ${CONNECTIONS} connections`, 0.3)]
}

function operatorOf(baseUrl, token) {
  return (path, body = {}) => fetchJson(`${baseUrl}/_platform/v1${path}`, { token, body })
}

/** Creates an approved bot with its bot token and its chats. */
async function prepareBot(baseUrl, platform, username) {
  const { jwt } = await platform(`/accounts/${username}/token`)
  const { id } = await fetchJson(`${baseUrl}/api/v1/bots/applications`, {
    token: jwt,
    body: { name: 'Bench', username },
  })
  await platform(`/bots/${id}/approve`)
  const { one_time_token: token } = await fetchJson(`${baseUrl}/api/v1/bots/my/${id}`, { token: jwt })
  const chats = []
  for (let n = 0; n < CHATS; n++) chats.push((await platform('/chats', { bot_id: id, user_id: `user-${n}` })).id)
  // Confirm the updates that creating the chats caused, which are not measured.
  await fetchJson(`${baseUrl}/api/v1/bots/getUpdates`, { token, body: { offset: CHATS + 1 } })
  const setWebhook = (body) => fetchJson(`${baseUrl}/api/v1/bots/setWebhook`, { token, body })
  return { id, jwt, token, chats, setWebhook }
}

/** Throws unless the server has recorded every delivery as delivered within 5 s. */
async function requireDelivered(baseUrl, { id, jwt }, count) {
  const url = `${baseUrl}/api/v1/bots/my/${id}/deliveries?status=delivered&limit=1`
  for (let tries = 0; tries < 100; tries++) {
    const { pagination } = await fetchJson(url, { token: jwt })
    if (pagination.total === count) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('not every delivery was written down as delivered')
}

async function inParallel(count, call) {
  let next = 0
  const work = async () => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: 32 }, work))
}
