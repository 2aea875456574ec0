// Child process of P15: measures a server inside the process, in ms. argv: emulate or server, and the script of the
// library. Responds to one message.
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { median } from '../rounds.js'

const VOUCHERS = 10_000
const REPEATS = 10

const [, , name, script] = process.argv
let issued = 0
/** How a library starts a server, and a call that changes something. */
const { starter, change } = {
  emulate: {
    starter:
      ({ createEmulator }) =>
      () =>
        createEmulator({ service: 'github', port: 0 }),
    async change({ url }) {
      const headers = { authorization: 'Bearer test_token_admin', 'content-type': 'application/json' }
      const body = JSON.stringify({ name: `repository-${issued++}` })
      const response = await fetch(`${url}/user/repos`, { method: 'POST', headers, body })
      if (response.status !== 201) throw new Error(`emulate responded with ${response.status}`)
      await response.arrayBuffer()
    },
  },
  server: {
    starter:
      ({ startServer }) =>
      () =>
        startServer(),
    async change({ client }) {
      const order = { template_id: 'tpl_coffee', external_issue_id: `order-${issued++}`, recipient_user_id: 'user-1' }
      const result = await client.vouchers.issue(order)
      if (!result.ok) throw new Error(result.code)
    },
  },
}[name]

async function timed(work) {
  const startedAt = performance.now()
  const value = await work()
  return [performance.now() - startedAt, value]
}

async function medianOf(work) {
  const all = []
  for (let n = 0; n < REPEATS; n++) all.push(await work())
  return median(all)
}

process.once('message', async () => {
  let start
  const [first, server] = await timed(async () => {
    start = starter(await import(pathToFileURL(script).href))
    return start()
  })
  const further = await medianOf(async () => {
    const [ms, another] = await timed(start)
    await another.close()
    return ms
  })
  const reset = await medianOf(async () => {
    await change(server)
    const [ms] = await timed(() => server.reset())
    return ms
  })
  process.send({ first, further, reset, ...(name === 'server' && (await measureSnapshots(server))) })
  await server.close()
})

async function measureSnapshots(server) {
  issued = 0
  while (issued < VOUCHERS) await Promise.all(Array.from({ length: 100 }, () => change(server)))
  const restores = []
  const snapshot = await medianOf(async () => {
    const [ms, saved] = await timed(() => server.snapshot())
    await change(server)
    restores.push((await timed(() => server.restore(saved)))[0])
    return ms
  })
  return { snapshot, restore: median(restores) }
}
