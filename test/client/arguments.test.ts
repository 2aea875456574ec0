import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { type CallOptions, type ClientOptions, createClient, createPoolTransport } from '../../src/client/index.js'
import { startServer } from '../../src/testing/index.js'

const baseUrl = 'http://127.0.0.1:1'

test.each<[object, string]>([
  [{ baseURL: baseUrl }, 'options.baseURL is unknown: did you mean baseUrl?'],
  [{ baseUrl, timeout: 5 }, 'options.timeout is unknown: did you mean timeoutMs?'],
  [{ baseUrl, retry: { attempts: 1 } }, 'options.retry.attempts is unknown: its members are tries, '],
  [{ baseUrl, secure: { mode: 'auto', pin: [] } }, 'options.secure.pin is unknown: did you mean pins?'],
])('createClient throws TypeError for an unknown name in %j', (options, message) => {
  const create = () => createClient(options as ClientOptions)
  expect(create).toThrow(TypeError)
  expect(create).toThrow(message)
})

test.each<[object, string]>([
  [{ idempotency_key: 'a' }, 'options.idempotency_key is unknown: did you mean idempotencyKey?'],
  [{ retry: { trie: 1 } }, 'options.retry.trie is unknown: did you mean tries?'],
  [{ secure: { mode: 'off' } }, 'options.secure is unknown: its members are '],
])('methods, pages and streams of a client reject an unknown call option in %j', async (options, message) => {
  const { templates, platform } = createClient({ baseUrl })
  const wrong = options as CallOptions
  const calls = [() => templates.list({}, wrong), () => templates.list.pages({}, wrong).next()]
  for (const call of [...calls, () => platform.activity({}, wrong)]) await expect(call()).rejects.toThrow(message)
})

test.each([
  ['an AbortController', new AbortController()],
  ['a number', 5],
  ['an event target', new EventTarget()],
  ['an object that takes no listener away', { aborted: false, addEventListener() {} }],
])('a call with %s as signal rejects with TypeError before it opens a connection', async (_, signal) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const pool = await createPoolTransport(url)
  const options = { signal: signal as AbortSignal }
  const settings: ClientOptions[] = [
    { baseUrl: url },
    { baseUrl: url, transport: pool.send },
    { baseUrl: url, secure: { mode: 'required' } },
  ]
  for (const client of settings.map(createClient)) {
    await expect(client.templates.list({}, options)).rejects.toThrow('signal must be an AbortSignal')
    await expect(client.platform.activity({}, options)).rejects.toThrow(TypeError)
  }
  await pool.close()
  server.close()
  await once(server, 'close')
  expect(connections).toBe(0)
})

test.each(['before', 'after'])('a pool that is closed twice %s a call refuses later calls', async (when) => {
  const server = await startServer()
  const pool = await createPoolTransport(server.baseUrl)
  const client = createClient({ baseUrl: server.baseUrl, token: server.token, transport: pool.send })
  if (when === 'after') expect(await client.templates.list()).toMatchObject({ ok: true })
  await Promise.all([pool.close(), pool.close()])
  await pool.close()
  const message = 'The transport was closed: create another one with createPoolTransport'
  expect(await client.templates.list()).toMatchObject({ code: 'ABORTED', message, outcomeUnknown: false })
  await server.close()
})

test('forecast and addFault accept an input without their optional members', async () => {
  const server = await startServer()
  const { platform } = server.client
  expect(await platform.forecast({})).toMatchObject({ ok: true, data: { deliveries_due: 0 } })
  expect(await platform.addFault({ endpoint: 'apps.list', kind: 'error' })).toMatchObject({ data: { times: 1 } })
  await server.close()
})
