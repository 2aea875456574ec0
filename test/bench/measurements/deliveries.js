import { setTimeout as wait } from 'node:timers/promises'
import { fetchJson, operatorOf } from '../calls.js'
import { bundle, program, startServer, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const CONNECTIONS = 40
const CHATS = 100

/**
 * P9: signed deliveries per second of chat messages, each with its delivery, attempt and update rows, compared with
 * undici posting the same bodies to the same receiver: sequentially, which is the reference, and over as many
 * connections as the deliveries use. The CPU time of the server is compared with a floor that does only what a delivery
 * must.
 */
export function measureDeliveries({ rounds, count, profile, say }) {
  return withProcesses(async ({ folder, start }) => {
    const receiver = start(program('receiver.js'))
    const { port } = await receiver.nextMessage()
    const server = await startServer(start, folder, { receiverPort: port, profile })
    const poster = start(await bundle('poster.js'))
    const floor = start(await bundle('floor-deliveries.js'), [folder])
    const middle = await alternate({ rounds, say }, async (round) => {
      const bot = await prepareBot(server, `bench_${round}`, count)
      const post = async (connections) => {
        const measured = receiver.ask({ count })
        await poster.ask({ port, connections, bodies: bot.bodies, count })
        return measured
      }
      return [
        async () => {
          const measured = receiver.ask({ count })
          await bot.setWebhook({ url: `http://127.0.0.1:${port}/hook`, max_connections: CONNECTIONS })
          // The server has inserted 200 rows of deliveries by then, and sent a few.
          const before = await server.cpu()
          const sample = await measured
          const cpu = ((await server.cpu()) - before) / count
          await bot.requireDelivered()
          return { deliveries: { ...sample, cpu } }
        },
        async () => {
          const measured = receiver.ask({ count })
          const job = { port, connections: CONNECTIONS, bot: `bench_${round}`, bodies: bot.bodies, count }
          const { cpu } = await floor.ask(job)
          return { floor: { ...(await measured), cpu } }
        },
        async () => ({ loop: await post(1) }),
        async () => ({ pool: await post(CONNECTIONS) }),
      ]
    })
    const what = `webhook deliveries, signed, with their rows, ${CONNECTIONS} connections`
    const row = (name, against, target) => {
      const rates = { value: middle('deliveries'), reference: middle(name), target, unit: 'deliveries/s' }
      return rowOf({ id: 'P9', what, ...rates, against })
    }
    const cpu = { value: middle('deliveries', 'cpu'), reference: middle('floor', 'cpu'), target: 1.5, unit: 'us' }
    return [
      row('loop', 'undici posting them in a loop', 0.8),
      row('pool', `undici over ${CONNECTIONS} connections`, 0.3),
      rowOf({ id: 'P9', what: `${what}: CPU time`, ...cpu, against: 'floor' }),
    ]
  })
}

/** Creates an approved bot, to which `count` messages are waiting. */
async function prepareBot(server, username, count) {
  const platform = operatorOf(server)
  const api = `${server.baseUrl}/api/v1/bots`
  const { jwt } = await platform(`/accounts/${username}/token`)
  const { id } = await fetchJson(`${api}/applications`, { token: jwt, body: { name: 'Bench', username } })
  await platform(`/bots/${id}/approve`)
  const { one_time_token: token } = await fetchJson(`${api}/my/${id}`, { token: jwt })
  const chats = []
  for (let n = 0; n < CHATS; n++) chats.push((await platform('/chats', { bot_id: id, user_id: `user-${n}` })).id)
  // Confirm the updates that creating the chats caused, which are not measured.
  await fetchJson(`${api}/getUpdates`, { token, body: { offset: CHATS + 1 } })
  await inParallel(count, (n) =>
    platform(`/chats/${chats[n % CHATS]}/messages`, { text: `Is table ${n} still free this evening?` }),
  )
  const { items } = await fetchJson(`${api}/getUpdates`, { token, body: {} })
  return {
    bodies: items.map((it) => JSON.stringify(it)),
    setWebhook: (body) => fetchJson(`${api}/setWebhook`, { token, body }),
    /** Throws unless the server has recorded every delivery as delivered within 5 s. */
    async requireDelivered() {
      for (let tries = 0; tries < 100; tries++) {
        const list = await fetchJson(`${api}/my/${id}/deliveries?status=delivered&limit=1`, { token: jwt })
        if (list.pagination.total === count) return
        await wait(50)
      }
      throw new Error('not every delivery was written down as delivered')
    },
  }
}

async function inParallel(count, call) {
  let next = 0
  const work = async () => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: 32 }, work))
}
