import { once } from 'node:events'
import { Agent, createServer, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type AppResponse, endToEnd, Forwarder } from '../../src/workbench/forwarding.js'
import { Inbox } from '../../src/workbench/inbox.js'
import { emptyResponse } from '../../src/workbench/listener.js'
import { closedPort } from '../support/closed-port.js'
import { listen } from '../support/listen.js'
import { newAuthority } from '../support/secure/certificates.js'
import { chunksOf } from '../support/server/request-body.js'
import { deliver, gate, listening, nowSeconds, secret, signed, updateBody } from '../support/webhook/listener.js'

const post = (url: string, body: Buffer, headers: Readonly<Record<string, string>>) =>
  fetch(url, { method: 'POST', body, headers })

const verdicts = (events: readonly { verdict: string; reason: string | null; status: number | null }[]) =>
  events.map(({ verdict, reason, status }) => [verdict, reason, status])

/** An application that records request bodies and responds with the status that `statusOf` returns. */
async function application(statusOf: (index: number) => number | Promise<number> = () => 200) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const chunks = await chunksOf(request)
    const index = bodies.push(Buffer.concat(chunks).toString('latin1')) - 1
    response.writeHead(await statusOf(index), { 'X-App': 'yes', 'Content-Type': 'text/plain' }).end(`body ${index}`)
  })
  return { bodies, url: new URL(`http://127.0.0.1:${await listen(server)}/hook?x=1`) }
}

function forwarder(timeoutMs?: number): Forwarder {
  const it = new Forwarder(timeoutMs)
  onTestFinished(() => it.close())
  return it
}

test('the forwarder sends the host name as SNI over https, and no SNI for an IP address', async () => {
  const serverNames: (string | null)[] = []
  const server = createTlsServer(newAuthority('Test authority').issue(['localhost']))
  server.on('tlsClientError', (_error, socket) =>
    serverNames.push((socket as TLSSocket & { servername?: string }).servername || null),
  )
  const port = await listen(server)
  for (const host of ['localhost', '127.0.0.1']) {
    // The forwarder does not trust the certificate, so the handshake fails after the server has read the SNI.
    const { failure } = await forwarder().send(new URL(`https://${host}:${port}/`), {
      headers: [],
      body: Buffer.alloc(0),
    })
    expect(failure?.reason).toBe('app_broke_off')
  }
  await vi.waitFor(() => expect(serverNames).toEqual(['localhost', null]), 30_000)
})

test('the listener without an application responds 200 on any path and emits the update', async () => {
  const { url, emitted } = await listening()
  const response = await deliver(`${url}/any/path?x=1`, 7)
  expect([response.status, await response.text()]).toEqual([200, ''])
  const [event] = await emitted(1)
  expect(event).toMatchObject({
    at: nowSeconds * 1000,
    verdict: 'ok',
    reason: null,
    status: 200,
    inboxId: '1-1',
    update: { id: '7', type: 'message', body: { update_id: 7, message: { text: 'Hello' } } },
  })
})

test.each([
  ['missing_header', updateBody(1), {}],
  ['bad_signature', updateBody(1), signed(updateBody(2), 1)],
  ['stale', updateBody(1), signed(updateBody(1), 1, [secret], nowSeconds - 301)],
  ['future', updateBody(1), signed(updateBody(1), 1, [secret], nowSeconds + 301)],
  ['update_id_mismatch', updateBody(1), signed(updateBody(1), 2)],
  ['body_not_json', Buffer.from('{'), signed(Buffer.from('{'), 1)],
  ['body_without_update_id', Buffer.from('{}'), signed(Buffer.from('{}'), 1)],
])('the listener gives 401 %s and only records a delivery', { tags: 'listener/1' }, async (reason, body, headers) => {
  const app = vi.fn(async () => emptyResponse(200))
  const { url, emitted, dir, close } = await listening({ app })
  const response = await post(url, body, headers)
  expect([response.status, await response.json()]).toEqual([401, { error: { reason } }])
  expect(await emitted(1)).toMatchObject([{ verdict: 'refused', reason, status: 401, update: null }])
  expect(app).not.toHaveBeenCalled()
  await close()
  const stored = new Inbox(dir).read('1-1')
  expect(stored).toMatchObject({ verdict: 'refused', reason, update_id: null, type: null })
  expect(stored?.body.equals(body)).toBe(true)
})

test('the listener accepts a timestamp of exactly 300 s in the past or future', async () => {
  const { url } = await listening()
  for (const at of [nowSeconds - 300, nowSeconds + 300]) {
    const body = updateBody(at)
    expect((await post(url, body, signed(body, at, [secret], at))).status).toBe(200)
  }
})

test('the listener accepts a signature of any of its secrets; without a secret, it refuses all', async () => {
  const body = updateBody(1)
  const two = await listening({ secrets: ['new', secret] })
  expect((await post(two.url, body, signed(body, 1))).status).toBe(200)
  expect((await post(two.url, updateBody(2), signed(updateBody(2), 2, ['new', 'other']))).status).toBe(200)
  const none = await listening({ secrets: [] })
  const refused = await post(none.url, body, signed(body, 1))
  expect([refused.status, await refused.json()]).toEqual([401, { error: { reason: 'no_secret' } }])
})

test('the listener responds 405 with Allow to a GET and records no delivery', async () => {
  const { url, emitted, dir } = await listening()
  const response = await fetch(url)
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
  expect(verdicts(await emitted(1))).toEqual([['refused', 'method_not_allowed', 405]])
  expect(new Inbox(dir).count).toBe(0)
})

test('the listener accepts a body of 1 MiB and responds 413 to a larger one', async () => {
  const { url, port, emitted } = await listening()
  const text = 'x'.repeat(1024 * 1024 - updateBody(1, 'message', '').length)
  expect(updateBody(1, 'message', text)).toHaveLength(1024 * 1024)
  expect((await deliver(url, 1, 'message', text)).status).toBe(200)
  expect((await deliver(url, 2, 'message', `${text}x`)).status).toBe(413)

  // This client sends 8 MiB in chunks before it reads the response.
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
  const chunk = `100000\r\n${'y'.repeat(0x100000)}\r\n`
  for (let sent = 0; sent < 8; sent++) if (!socket.write(chunk)) await once(socket, 'drain')
  socket.write('0\r\n\r\n')
  const [bytes] = await once(socket, 'data')
  expect(String(bytes)).toMatch(/^HTTP\/1.1 413 .*body_too_large/s)
  // The listener must read the rest of the body, so that the connection stays usable.
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 405 /)
  socket.destroy()
  expect(verdicts(await emitted(4)).slice(1, 3)).toEqual([
    ['refused', 'body_too_large', 413],
    ['refused', 'body_too_large', 413],
  ])
})

test('the listener responds 413 instead of 100 Continue if Content-Length exceeds 1 MiB', async () => {
  const { port } = await listening()
  const request = httpRequest({
    port,
    host: '127.0.0.1',
    method: 'POST',
    headers: { Expect: '100-continue', 'Content-Length': 1024 * 1024 + 1 },
  })
  const onContinue = vi.fn()
  request.on('continue', onContinue)
  request.flushHeaders()
  const [response] = await once(request, 'response')
  expect([response.statusCode, onContinue.mock.calls.length]).toEqual([413, 0])
  request.on('error', () => {})
  request.destroy()
})

test('the listener forwards the exact body and returns the response of the application', async () => {
  const app = await application(() => 418)
  const send = forwarder()
  const { url, emitted } = await listening({ app: (it) => send.send(app.url, it) })
  const response = await deliver(url, 7, 'message', 'Grüße 🎟')
  expect([response.status, await response.text()]).toEqual([418, 'body 0'])
  expect([response.headers.get('x-app'), response.headers.get('content-type')]).toEqual(['yes', 'text/plain'])
  expect(app.bodies).toEqual([updateBody(7, 'message', 'Grüße 🎟').toString('latin1')])
  expect(verdicts(await emitted(1))).toEqual([['ok', null, 418]])
})

test('the listener responds 502 and names both loopback addresses if the application is down', async () => {
  const port = await closedPort()
  const send = forwarder()
  const { url, emitted, dir, close } = await listening({
    app: (it) => send.send(new URL(`http://localhost:${port}/`), it),
  })
  expect((await deliver(url, 7)).status).toBe(502)
  const [event] = await emitted(1)
  expect(event).toMatchObject({ verdict: 'ok', reason: 'app_unreachable', status: 502 })
  expect(event?.failure).toBe(`Nothing accepts connections on 127.0.0.1:${port} and [::1]:${port} (ECONNREFUSED).`)
  await close()
  const [recorded] = new Inbox(dir).read('1-1')?.responses ?? []
  expect(recorded).toMatchObject({ status: 502, to: `http://localhost:${port}/`, error: event?.failure, replay: false })
})

test('the forwarder tries both ::1 and 127.0.0.1 for a loopback URL', async () => {
  const server = createServer((_request, response) => response.end('six'))
  await new Promise<void>((resolve) => server.listen(0, '::1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const four = await application()
  const send = forwarder()
  const it = { headers: ['Connection', 'close'], body: updateBody(1) }
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    expect((await send.send(new URL(`http://${host}:${port}/`), it)).body.toString()).toBe('six')
  }
  expect((await send.send(new URL(`http://[::1]:${four.url.port}/`), it)).status).toBe(200)
})

test('the forwarder returns 504 for a slow response, 502 for a bad one', { tags: 'listener/2' }, async () => {
  const silent = createServer(() => {})
  const broken = createServer((request) => request.socket.destroy())
  const halting = createServer((_request, response) => response.writeHead(200, { 'Content-Length': 9 }).write('half'))
  const chatty = createServer((_request, response) => response.end(Buffer.alloc(1024 * 1024 + 1)))
  const it = { headers: [], body: updateBody(1) }
  const to = async (server: Parameters<typeof listen>[0], timeoutMs?: number) => {
    const { status, failure } = await forwarder(timeoutMs).send(
      new URL(`http://127.0.0.1:${await listen(server)}/`),
      it,
    )
    return [status, failure?.reason]
  }
  expect(await to(silent, 300)).toEqual([504, 'app_timeout'])
  expect(await to(halting, 300)).toEqual([504, 'app_timeout'])
  expect(await to(broken)).toEqual([502, 'app_broke_off'])
  expect(await to(chatty)).toEqual([502, 'app_response_too_long'])
})

test('the forwarder opens a new connection after the application has restarted', async () => {
  const send = forwarder()
  const it = { headers: [], body: updateBody(1) }
  const first = createServer((_request, response) => response.end('first'))
  const port = await listen(first)
  const to = new URL(`http://127.0.0.1:${port}/`)
  expect((await send.send(to, it)).body.toString()).toBe('first')
  first.closeAllConnections()
  await new Promise((resolve) => first.close(resolve))
  const second = createServer((_request, response) => response.end('second'))
  await new Promise<void>((resolve) => second.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void second.close())
  expect((await send.send(to, it)).body.toString()).toBe('second')
  second.closeAllConnections()
})

test('the forwarder does not resend a delivery if a reused connection breaks', { tags: 'listener/2' }, async () => {
  const paths: string[] = []
  const app = createServer((request, response) => {
    const second = paths.push(request.url ?? '') === 2
    request.resume().on('end', () => (second ? request.socket.resetAndDestroy() : response.end()))
  })
  const origin = `http://127.0.0.1:${await listen(app)}`
  const send = forwarder()
  const it = { headers: [], body: updateBody(1) }
  const statuses: unknown[] = []
  for (const path of ['/1', '/2', '/3']) statuses.push((await send.send(new URL(path, origin), it)).status)
  expect([statuses, paths]).toEqual([
    [200, 502, 200],
    ['/1', '/2', '/3'],
  ])
})

test('the forwarder sends body and end-to-end headers byte for byte', { tags: 'listener/2' }, async () => {
  let seen: { raw: string[]; body: Buffer } | undefined
  const app = createServer(async (request, response) => {
    const chunks = await chunksOf(request)
    seen = { raw: request.rawHeaders, body: Buffer.concat(chunks) }
    response.end()
  })
  const to = new URL(`http://127.0.0.1:${await listen(app)}/`)
  const send = forwarder()
  const token = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_.!~'), minLength: 1, maxLength: 12 })
  const latin1 = fc.integer({ min: 0x21, max: 0xff }).filter((it) => it !== 0x7f)
  const value = fc.string({ unit: latin1.map((it) => String.fromCharCode(it)), maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(
          token.map((it) => `X-${it}`),
          value,
        ),
        { maxLength: 8 },
      ),
      fc.uint8Array({ maxLength: 3_000 }),
      async (pairs, bytes) => {
        const body = Buffer.from(bytes)
        const kept = ['hOST', 'shop.example', ...pairs.flat(), 'content-LENGTH', String(body.length)]
        const headers = [...kept, 'Connection', 'X-Hop, keep-alive', 'X-Hop', '1', 'TE', 'trailers', 'Upgrade', 'h2c']
        await send.send(to, { headers, body })
        expect(seen?.raw).toEqual([...kept, 'Connection', 'keep-alive'])
        expect(seen?.body.equals(body)).toBe(true)
      },
    ),
    { seed: 1, numRuns: 60 },
  )
})

test('the forwarder sends a chunked delivery with Content-Length', async () => {
  const seen: string[][] = []
  const app = createServer((request, response) => {
    seen.push(request.rawHeaders)
    request.resume().on('end', () => response.end())
  })
  const headers = ['Host', 'a:1', 'Transfer-Encoding', 'chunked', 'X-B', '2']
  await forwarder().send(new URL(`http://127.0.0.1:${await listen(app)}/`), { headers, body: Buffer.from('abc') })
  expect(seen).toEqual([['Host', 'a:1', 'X-B', '2', 'Content-Length', '3', 'Connection', 'keep-alive']])
})

test('endToEnd() replaces Host by the name of a remote application in the same place', { tags: 'listener/2' }, () => {
  expect(endToEnd(['X-A', '1', 'HOST', 'a:1', 'X-B', '2'], 'shop.example')).toEqual([
    'X-A',
    '1',
    'HOST',
    'shop.example',
    'X-B',
    '2',
  ])
})

test('the listener responds 408 and closes if a sender never completes its headers or body', async () => {
  const { port } = await listening({ limits: { headersMs: 100, requestMs: 200, checkMs: 50 } })
  for (const bytes of ['POST / HTTP/1.1\r\nHo', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{']) {
    const socket = connect(port, '127.0.0.1')
    socket.write(bytes)
    const [received] = await once(socket, 'data')
    expect(String(received)).toMatch(/^HTTP\/1.1 408 /)
    await once(socket, 'close')
  }
})

test('the listener forwards a duplicate only of a failed delivery', { tags: 'repeated-deliveries/1' }, async () => {
  const app = await application((index) => (index === 0 ? 500 : 201))
  const send = forwarder()
  const { url, emitted } = await listening({ app: (it) => send.send(app.url, it) })
  const statuses = []
  for (let sent = 0; sent < 4; sent++) statuses.push((await deliver(url, 7)).status)
  expect(statuses).toEqual([500, 201, 200, 200])
  expect(app.bodies).toHaveLength(2)
  expect((await emitted(4)).map((it) => it.verdict)).toEqual(['ok', 'ok', 'duplicate', 'duplicate'])
})

test('the listener sends duplicates in flight the same response', { tags: 'repeated-deliveries/1' }, async () => {
  for (const status of [202, 503]) {
    const appResponse = gate<AppResponse>()
    const passed = gate()
    const app = vi.fn(() => {
      passed.open()
      return appResponse.opened
    })
    const { url, dir, close } = await listening({ app })
    const responses = [deliver(url, 7)]
    await passed.opened
    responses.push(deliver(url, 7), deliver(url, 7))
    // The application responds only after the listener has recorded all three deliveries.
    await vi.waitFor(() => expect(new Inbox(dir).count).toBe(3), 30_000)
    appResponse.open({ ...emptyResponse(status), body: Buffer.from('shared') })
    for (const it of await Promise.all(responses)) expect([it.status, await it.text()]).toEqual([status, 'shared'])
    expect(app).toHaveBeenCalledTimes(1)
    await close()
    expect(new Inbox(dir).find({}).map((it) => [it.verdict, it.status])).toEqual([
      ['ok', status],
      ['duplicate', status],
      ['duplicate', status],
    ])
  }
})

test('the listener forwards another body with a used id as id_reused', { tags: 'repeated-deliveries/1' }, async () => {
  const app = await application()
  const send = forwarder()
  const { url, emitted } = await listening({ app: (it) => send.send(app.url, it) })
  for (const text of ['one', 'two', 'one']) await deliver(url, 7, 'message', text)
  expect(verdicts(await emitted(3))).toEqual([
    ['ok', null, 200],
    ['ok', 'id_reused', 200],
    ['duplicate', null, 200],
  ])
  expect(app.bodies).toHaveLength(2)
})

test('the listener records a delivery in the inbox before it forwards it', { tags: 'inbox-files/2' }, async () => {
  const counts: number[] = []
  const running = await listening({
    app: async () => {
      counts.push(new Inbox(running.dir).count)
      return emptyResponse(200)
    },
  })
  await deliver(running.url, 1)
  await deliver(running.url, 2)
  expect(counts).toEqual([1, 2])
})

test('the listener responds 503 to a delivery that it cannot record, and accepts it later', async () => {
  const app = vi.fn(async () => emptyResponse(200))
  let isFull = true
  const inbox = {
    recordDelivery: async () => {
      if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
      return '1-1'
    },
    recordResponse: async () => {},
  }
  const { url, emitted } = await listening({ app, inbox, eventsMax: 1 })
  expect((await deliver(url, 7)).status).toBe(503)
  expect(verdicts(await emitted(1))).toEqual([['refused', 'inbox_unwritable', 503]])
  expect(app).not.toHaveBeenCalled()
  isFull = false
  expect((await deliver(url, 7)).status).toBe(200)
  expect(app).toHaveBeenCalledTimes(1)
})

test('the listener responds 503 after eventsMax deliveries and neither records nor emits more', async () => {
  const { url, emitted, events, dir } = await listening({ eventsMax: 2 })
  expect([(await deliver(url, 1)).status, (await deliver(url, 2)).status, (await deliver(url, 3)).status]).toEqual([
    200, 200, 503,
  ])
  await emitted(2)
  expect([events.length, new Inbox(dir).count]).toEqual([2, 2])
})

test('close() of the listener completes deliveries in flight and drops other open requests', async () => {
  const appResponse = gate<AppResponse>()
  const passed = gate()
  const { url, port, close, emitted } = await listening({
    app: async (_it, type) => {
      if (type === 'ping') return emptyResponse(null)
      passed.open()
      return appResponse.opened
    },
  })
  const half = connect(port, '127.0.0.1')
  half.on('error', () => {})
  const broken = once(half, 'close')
  half.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{')
  const left = deliver(url, 1, 'ping').then(
    () => 'resolved',
    () => 'rejected',
  )
  await emitted(1)
  const slow = deliver(url, 2)
  await passed.opened
  const closed = close()
  await broken
  appResponse.open(emptyResponse(207))
  expect((await slow).status).toBe(207)
  await closed
  expect(await left).toBe('rejected')
  await expect(fetch(url)).rejects.toThrow()
})

test('the listener forwards and emits a delivery even if its sender disconnects early', async () => {
  const appResponse = gate<AppResponse>()
  const passed = gate()
  const { url, emitted } = await listening({
    app: () => {
      passed.open()
      return appResponse.opened
    },
  })
  const leaving = new AbortController()
  const body = updateBody(7)
  const sent = fetch(url, { method: 'POST', body, headers: signed(body, 7), signal: leaving.signal })
  await passed.opened
  leaving.abort()
  await expect(sent).rejects.toThrow()
  appResponse.open(emptyResponse(200))
  expect(verdicts(await emitted(1))).toEqual([['ok', null, 200]])
})

test('the listener accepts a delivery beside 300 slow connections', { tags: 'refused-deliveries/1' }, async () => {
  const { url, port, emitted } = await listening()
  const heads = ['', 'POST / HTTP/1.1\r\nHo', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{']
  // The listener must not close the connection of a sender with a verified delivery.
  const proven = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => proven.destroy())
  const status = (id: number, agent: Agent) =>
    new Promise((resolve, reject) => {
      const body = updateBody(id)
      const headers = { ...signed(body, id), 'Content-Length': body.length }
      const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
        response.resume().on('end', () => resolve([response.statusCode, sent.reusedSocket]))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  expect(await status(1, proven)).toEqual([200, false])
  let closed = 0
  for (let count = 0; count < 300; count++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.on('close', () => closed++)
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(heads[count % 3] as string)
  }
  expect(await status(2, new Agent())).toEqual([200, false])
  expect(await status(3, proven)).toEqual([200, true])
  expect((await emitted(3)).map(({ verdict }) => verdict)).toEqual(['ok', 'ok', 'ok'])
  // The 256 newest stay open, and one more made room for the sender.
  await expect.poll(() => closed).toBe(45)
})
