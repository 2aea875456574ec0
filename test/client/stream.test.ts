import { expect, onTestFinished, test, vi } from 'vitest'
import type { CallOptions } from '../../src/client/settings.js'
import { createStream } from '../../src/client/stream.js'
import { platformActivity } from '../../src/contract/platform/activity.js'
import { closedPort } from '../support/closed-port.js'
import { rawServer } from '../support/listen.js'

const head =
  'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nX-Request-Id: req_1\r\nTransfer-Encoding: chunked\r\n\r\n'
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])

async function collect(data: AsyncIterable<unknown>): Promise<unknown[]> {
  const items: unknown[] = []
  for await (const item of data) items.push(item)
  return items
}

test('a stream yields one document per line wherever the network splits the bytes', async () => {
  const bytes = Buffer.from('{"path":"é"}\n\n{"path":null}\n{"path":"last"}')
  const server = await rawServer((socket) => {
    socket.write(head)
    for (const byte of bytes) socket.write(chunk(Buffer.from([byte])))
    socket.end('0\r\n\r\n')
  })
  const result = await createStream(server.baseUrl, { token: 'opk_x' })(platformActivity.requests, {})
  expect(result).toMatchObject({ ok: true, status: 200, requestId: 'req_1' })
  if (!result.ok) return expect.unreachable()
  expect(await collect(result.data)).toEqual([{ path: 'é' }, { path: null }, { path: 'last' }])
  expect(server.received[0]).toMatch(/^GET \/_platform\/v1\/requests HTTP/)
  expect(server.received[0]?.toLowerCase()).toContain('authorization: bearer opk_x')
})

test('a stream yields documents while it is open and closes the connection on `break`', async () => {
  let closed: () => void = () => {}
  const closing = new Promise<void>((resolve) => {
    closed = resolve
  })
  const server = await rawServer((socket) => {
    socket.on('close', closed)
    socket.write(head)
    socket.write(chunk(Buffer.from('{"path":"a"}\n')))
  })
  const result = await createStream(server.baseUrl)(platformActivity.requests, { follow: 'true' }, { timeoutMs: 5000 })
  if (!result.ok) return expect.unreachable()
  for await (const entry of result.data) {
    expect(entry).toEqual({ path: 'a' })
    break
  }
  await closing
})

test('an open stream throws `aborted` when its signal fires', async () => {
  const controller = new AbortController()
  const server = await rawServer((socket) => {
    socket.write(head)
    socket.write(chunk(Buffer.from('{"path":"a"}\n')))
  })
  const result = await createStream(server.baseUrl)(
    platformActivity.requests,
    { follow: 'true' },
    { signal: controller.signal },
  )
  if (!result.ok) return expect.unreachable()
  const entries = result.data[Symbol.asyncIterator]()
  await entries.next()
  controller.abort()
  await expect(entries.next()).rejects.toMatchObject({ kind: 'aborted' })
})

test('a stream throws `lost` if the chunked response ends without its last chunk', async () => {
  const server = await rawServer((socket) => {
    socket.write(head)
    socket.end(chunk(Buffer.from('{"path":"a"}\n')))
  })
  const result = await createStream(server.baseUrl)(platformActivity.requests, {})
  if (!result.ok) return expect.unreachable()
  await expect(collect(result.data)).rejects.toMatchObject({ name: 'TransportError', kind: 'lost' })
})

/** The error with which a stream ends whose response has this line. */
async function errorOf(line: string): Promise<unknown> {
  const server = await rawServer((socket) => {
    socket.write(head)
    socket.write(chunk(Buffer.from('{"path":"a"}\n')))
    socket.end(Buffer.concat([chunk(Buffer.from(line)), Buffer.from('0\r\n\r\n')]))
  })
  const result = await createStream(server.baseUrl, { token: 'opk_0123456789' })(platformActivity.requests, {})
  if (!result.ok) return expect.unreachable()
  return collect(result.data).catch((error: unknown) => error)
}

test.each(['oops', 'null', '[]', '5', '"x"', '{"a":1}{', '\u0000', '{"success":true,"data":{}}'])(
  'a stream ends with INVALID_RESPONSE at the line %j, which is no document',
  { tags: 'time-limits/3' },
  async (line) => {
    expect(await errorOf(line)).toMatchObject({
      name: 'TransportError',
      kind: 'lost',
      cause: { code: 'INVALID_RESPONSE', message: expect.stringMatching(/^Not a response of a voucher service/) },
    })
  },
)

test('a stream ends with INVALID_RESPONSE at a line of more than 1 MiB', { tags: 'time-limits/3' }, async () => {
  const error = await errorOf(JSON.stringify({ text: 'x'.repeat(1024 * 1024) }))
  expect(error).toMatchObject({ cause: { code: 'INVALID_RESPONSE' } })
})

test('a stream ends with the failure of an envelope, without the token that the server repeats', async () => {
  const error = await errorOf('{"success":false,"code":"TOKEN_INVALID","message":"No opk_0123456789","requestId":"r"}')
  const message = 'No [credential]'
  expect(error).toMatchObject({ message, cause: { code: 'TOKEN_INVALID', message, requestId: 'r', status: 200 } })
})

/** Opens a stream of a server that sends an empty document every few milliseconds; only the test moves the timers. */
async function openTrickling(input: { readonly follow?: 'true' }, options?: CallOptions) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const server = await rawServer((socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write(chunk(Buffer.from('{}\n'))), 5)
    socket.on('close', () => clearInterval(timer))
  })
  const result = await createStream(server.baseUrl)(platformActivity.requests, input, options)
  return result.ok ? result.data : expect.unreachable()
}

test.each([
  ['after `timeoutMs`', 50, { timeoutMs: 50 }],
  ['after 15 s by default', 15_000, undefined],
])('a stream without follow ends with `timeout` %s if the response is not complete', async (_when, ms, options) => {
  const documents = await openTrickling({}, options)
  const entries = documents[Symbol.asyncIterator]()
  vi.advanceTimersByTime(ms - 1)
  for (let read = 0; read < 5; read++) expect(await entries.next()).toEqual({ done: false, value: {} })
  vi.advanceTimersByTime(1)
  await expect(collect({ [Symbol.asyncIterator]: () => entries })).rejects.toMatchObject({ kind: 'timeout' })
})

test('a stream with follow stays open after its time limit once the head has arrived', async () => {
  const entries = (await openTrickling({ follow: 'true' }, { timeoutMs: 50 }))[Symbol.asyncIterator]()
  await entries.next()
  vi.advanceTimersByTime(50)
  for (let read = 0; read < 5; read++) expect(await entries.next()).toEqual({ done: false, value: {} })
  await entries.return?.()
})

test('a stream request returns a failure with the error code of a 401 response', async () => {
  const body = '{"success":false,"code":"TOKEN_INVALID","message":"No."}'
  const server = await rawServer((socket) =>
    socket.end(`HTTP/1.1 401 No\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
  )
  expect(await createStream(server.baseUrl)(platformActivity.requests, {})).toMatchObject({
    ok: false,
    code: 'TOKEN_INVALID',
    status: 401,
  })
})

test('a stream request returns NETWORK_ERROR without a connection and TIMEOUT without a response', async () => {
  const stream = createStream(`http://127.0.0.1:${await closedPort()}`)
  expect(await stream(platformActivity.requests, {})).toMatchObject({ ok: false, code: 'NETWORK_ERROR', status: 0 })
  const silent = await rawServer(() => {})
  expect(await createStream(silent.baseUrl)(platformActivity.requests, {}, { timeoutMs: 50 })).toMatchObject({
    ok: false,
    code: 'TIMEOUT',
  })
})
