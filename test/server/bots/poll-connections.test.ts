import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { type ApiResponse, sendTo } from '../../support/server/client.js'
import { bearerLine, portOf } from '../../support/server/raw.js'
import { liveServer } from '../../support/server/server.js'
import { newTenant, type Tenant, type TestBot } from '../../support/server/tenant.js'
import { WatchedPolls } from '../../support/server/watched-polls.js'
import { HOOK_URL } from '../../support/server/webhooks.js'

/** Lets tests wait until the server holds polls or has ended them. */
let polls: WatchedPolls
let server: TestApp
let tenant: Tenant
let bot: TestBot
let port: number
let agent: http.Agent
beforeEach(async () => {
  polls = new WatchedPolls()
  server = testApp({ polls })
  tenant = await newTenant(server)
  bot = await tenant.bot()
  port = await portOf(server.app)
  agent = new http.Agent({ keepAlive: true })
})
afterEach(async () => {
  agent.destroy()
  await server.close()
})

const { method, path } = contract.bots.updates
const body = '{"timeout":50}'
const headers = () => ({ authorization: `Bearer ${bot.token}`, 'content-type': 'application/json' })
const hold = (): Promise<ApiResponse> =>
  sendTo(`http://127.0.0.1:${port}`, agent)({ method, path, headers: headers(), body })
const ping = () => tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
const written = (extra = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${bearerLine(bot.token)}Content-Type: application/json\r\n` +
  `Content-Length: ${body.length}\r\n${extra}\r\n${body}`

/** Returns everything that the server sends until it ends the connection. */
async function read(socket: net.Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

describe('held poll', () => {
  it('held poll ends when its connection is reset; its update is returned by the next poll', async () => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(written())
    await polls.waits(1)
    socket.resetAndDestroy()
    await polls.ends(1)
    expect(polls.isOpen(bot.id)).toBe(false)
    await ping()
    expect((await hold()).text).toContain('"update_id":1')
  })

  it('held poll ends immediately when its client closes the connection', async () => {
    const socket = net.connect(port, '127.0.0.1')
    socket.write(written())
    await polls.waits(1)
    socket.destroy()
    await polls.ends(1)
    expect(polls.isOpen(bot.id)).toBe(false)
  })

  it('held poll blocks setting a webhook until its client disconnects', { tags: 'polling/1' }, async () => {
    const set = () => tenant.console(contract.webhook.set, { botId: bot.id, url: HOOK_URL })
    const socket = net.connect(port, '127.0.0.1')
    socket.write(written())
    await polls.waits(1)
    for (const response of [await set(), await bot.call(contract.webhook.setByBot, { url: HOOK_URL })])
      expect(response).toMatchObject({ status: 409, code: 'POLLING_ACTIVE' })
    socket.destroy()
    await polls.ends(1)
    expect((await set()).code).toBe(null)
    expect((await hold()).code).toBe('WEBHOOK_ACTIVE')
  })

  it('held poll responds early if its client half-closes the connection', async () => {
    const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.write(written('Connection: close\r\n'))
    await polls.waits(1)
    socket.end()
    expect(await read(socket)).toContain('"data":{"items":[]}')
  })

  it('held polls leave no listeners on a reused connection', async () => {
    const connection = once(server.app.server, 'connection') as Promise<[net.Socket]>
    for (let n = 1; n <= 15; n++) {
      const held = hold()
      await polls.waits(n)
      await ping()
      await held
      await bot.call(contract.bots.updates, { offset: n + 1 })
    }
    const [socket] = await connection
    expect(socket.listenerCount('end')).toBeLessThan(5)
  })
})

describe('server shutdown with held polls', () => {
  it('closing the server ends held polls immediately with no items', async () => {
    const held = hold()
    await polls.waits(1)
    await Promise.all([server.app.close(), held])
    expect([(await held).status, (await held).data]).toEqual([200, { items: [] }])
  })

  it('closing a live server ends its held polls', async () => {
    const live = await liveServer()
    const there = await (await newTenant(live)).bot()
    const older = there.call(contract.bots.updates, { timeout: 50 })
    // The server ends the older poll when it holds the newer one.
    const newer = there.call(contract.bots.updates, { timeout: 50 })
    expect(await Promise.race([older, newer]).then((it) => it.code)).toBe('POLL_TERMINATED')
    await live.close()
    const codes = (await Promise.all([older, newer])).map((it) => it.code)
    expect(codes.sort()).toEqual(['POLL_TERMINATED', null])
  })
})
