import { expect, test } from 'vitest'
import { createClient, createPoolTransport } from '../../src/client/index.js'
import type { Transport } from '../../src/client/transport.js'
import { paths, RENEW_BEFORE_MS, SESSION_LIFETIME_MS } from '../../src/secure/index.js'
import { createInProcessTransport } from '../../src/testing/test-server.js'
import { type TestApp, testApp } from '../support/server/app.js'
import { inFolder, standaloneServer } from '../support/server/server.js'
import { codeOf, newTenant } from '../support/server/tenant.js'

const CALLS = 40

/** Counts the requests to each path of the encryption protocol. */
function counted(transport: Transport) {
  const counts = { bootstrap: 0, session: 0, dispatch: 0, other: 0 }
  const names = Object.fromEntries(Object.entries(paths).map(([name, path]) => [path, name as keyof typeof paths]))
  const send: Transport = async (request) => {
    counts[names[request.path] ?? 'other'] += 1
    return transport(request)
  }
  const take = () => {
    const taken = { ...counts }
    Object.assign(counts, { bootstrap: 0, session: 0, dispatch: 0, other: 0 })
    return taken
  }
  return { send, take }
}

function clientOf(transport: Transport, token: string, now: () => number, baseUrl = 'http://127.0.0.1') {
  const secure = { mode: 'required', now } as const
  return createClient({ baseUrl, token, transport, secure, retry: { tries: 1 } })
}

type Client = ReturnType<typeof clientOf>

async function callAll(client: Client, credential: ReturnType<typeof codeOf>) {
  const results = await Promise.all(Array.from({ length: CALLS }, () => client.vouchers.verify({ credential })))
  expect(results.filter((it) => !it.ok)).toEqual([])
}

test('40 parallel client calls share one negotiation at first use, and one at the renewal time', async () => {
  const server = testApp()
  const tenant = await newTenant(server)
  const credential = codeOf(await tenant.issue())
  const { send, take } = counted(createInProcessTransport(server.app.respond))
  const client = clientOf(send, tenant.token, () => server.clock.now())

  await callAll(client, credential)
  expect(take()).toEqual({ bootstrap: 1, session: 1, dispatch: CALLS, other: 0 })
  const lasts = SESSION_LIFETIME_MS - RENEW_BEFORE_MS
  server.clock.advance(lasts - 1)
  await callAll(client, credential)
  expect(take()).toEqual({ bootstrap: 0, session: 0, dispatch: CALLS, other: 0 })
  server.clock.advance(1)
  await callAll(client, credential)
  expect(take()).toEqual({ bootstrap: 1, session: 1, dispatch: CALLS, other: 0 })
  await server.close()
})

test('40 parallel client calls across the renewal time negotiate once and resend no request', async () => {
  const server = testApp()
  const tenant = await newTenant(server)
  const credential = codeOf(await tenant.issue())
  const { send, take } = counted(createInProcessTransport(server.app.respond))
  let dispatches = 0
  const moving: Transport = async (request) => {
    if (request.path === paths.dispatch) dispatches += 1
    // Reach the renewal time after the first call and half of the parallel calls.
    if (dispatches === 1 + CALLS / 2) server.clock.advance(1)
    return send(request)
  }
  const client = clientOf(moving, tenant.token, () => server.clock.now())
  await client.vouchers.verify({ credential })
  server.clock.advance(SESSION_LIFETIME_MS - RENEW_BEFORE_MS - 1)
  take()
  await callAll(client, credential)
  await callAll(client, credential)
  expect(take()).toEqual({ bootstrap: 1, session: 1, dispatch: 2 * CALLS, other: 0 })
  await server.close()
})

test('40 parallel client calls during a server restart negotiate once and resend requests once', async () => {
  const before = testApp()
  const tenant = await newTenant(before)
  const credential = codeOf(await tenant.issue())
  // A restarted server has the same database but no encrypted sessions.
  const after = testApp({ store: before.deps.store, clock: before.clock })
  const servers: Record<'before' | 'after', TestApp> = { before, after }
  let dispatches = 0
  const at = (): TestApp => servers[dispatches > CALLS / 2 ? 'after' : 'before']
  const transport: Transport = async (request) => {
    if (request.path === paths.dispatch) dispatches += 1
    return createInProcessTransport(at().app.respond)(request)
  }
  const { send, take } = counted(transport)
  const client = clientOf(send, tenant.token, () => before.clock.now())
  await client.vouchers.verify({ credential })
  take()
  await callAll(client, credential)
  const { bootstrap, session, dispatch } = take()
  expect([bootstrap, session]).toEqual([1, 1])
  expect(dispatch).toBe(CALLS + CALLS / 2 + 1)
  await after.close()
  await before.close()
})

test('40 parallel client calls over sockets succeed with one negotiation after a server restart', async () => {
  await inFolder(async (dataDir) => {
    const first = await standaloneServer({ dataDir })
    const tenant = await newTenant(first)
    const credential = codeOf(await tenant.issue())
    const pool = await createPoolTransport(first.baseUrl)
    const { send, take } = counted(pool.send)
    const client = createClient({
      baseUrl: first.baseUrl,
      token: tenant.token,
      transport: send,
      secure: { mode: 'required' },
    })
    await callAll(client, credential)
    take()
    await first.close()
    const second = await standaloneServer({ dataDir, port: first.port })
    await callAll(client, credential)
    const { bootstrap, session, dispatch } = take()
    expect([bootstrap, session]).toEqual([1, 1])
    expect(dispatch).toBeLessThanOrEqual(2 * CALLS)
    await pool.close()
    await second.close()
  })
})
