import { createServer } from 'node:http'
import { createServer as createNetServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createHttpTransport } from '../../src/client/http.js'
import { createPoolTransport } from '../../src/client/pool.js'
import { isTransportError, type Transport, TransportError, type TransportRequest } from '../../src/client/transport.js'
import { closedPort } from '../support/closed-port.js'
import { listen, rawServer } from '../support/listen.js'
import { selfSigned } from '../support/secure/self-signed.js'

const post: TransportRequest = {
  method: 'POST',
  path: '/api/v1/things?x=1',
  headers: { 'content-type': 'application/json', authorization: 'Bearer sop_secret' },
  body: '{"a":"é"}',
}

function pooled(baseUrl: string): Transport {
  const pool = createPoolTransport(baseUrl)
  onTestFinished(() => pool.close())
  return pool.send
}

async function failureOf(sent: Promise<unknown>): Promise<TransportError> {
  return sent.then(
    () => expect.unreachable('no TransportError'),
    (error) => error,
  )
}

describe.each([
  ['http', createHttpTransport],
  ['pool', pooled],
])('%s transport', (_name, create) => {
  test('a transport sends method, path, headers and body to the base URL and returns the response', async () => {
    const server = await rawServer((socket) =>
      socket.end(
        'HTTP/1.1 201 Created\r\nX-Request-Id: req_1\r\nVary: a\r\nVary: b\r\nContent-Length: 8\r\n\r\n{"b":1}\n',
      ),
    )
    const response = await create(`${server.baseUrl}/gateway/`)(post)
    expect(response).toMatchObject({ status: 201, body: '{"b":1}\n' })
    expect(response.headers).toMatchObject({ 'x-request-id': 'req_1', vary: 'a, b' })
    const [head = '', body] = (server.received[0] ?? '').split('\r\n\r\n')
    expect(head.split('\r\n')[0]).toBe('POST /gateway/api/v1/things?x=1 HTTP/1.1')
    expect(head.toLowerCase()).toContain('authorization: bearer sop_secret')
    expect(head.toLowerCase()).toContain('content-length: 10')
    expect(Buffer.from(body ?? '', 'latin1').toString('utf8')).toBe('{"a":"é"}')
  })

  test('a transport sends Content-Length for a DELETE with a body', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'))
    await create(server.baseUrl)({ method: 'DELETE', path: '/x', headers: {}, body: '{"a":1}' })
    expect(server.received[0]?.toLowerCase()).toContain('content-length: 7')
    expect(server.received[0]).toMatch(/\{"a":1\}$/)
  })

  test('a transport does not follow redirects', async () => {
    const server = await rawServer((socket) =>
      socket.end('HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n'),
    )
    expect(await create(server.baseUrl)(post)).toMatchObject({ status: 302, headers: { location: '/elsewhere' } })
    expect(server.received).toHaveLength(1)
  })

  test('a transport returns an error response that arrives before the server has read the body', async () => {
    const server = await rawServer((socket) =>
      socket.end('HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}'),
    )
    expect(await create(server.baseUrl)({ ...post, body: `{"a":"${'x'.repeat(60_000)}"}` })).toMatchObject({
      status: 413,
    })
  })

  test('a transport rejects with `refused` and maybeProcessed false if no server listens', async () => {
    const error = await failureOf(create(`http://127.0.0.1:${await closedPort()}`)(post))
    expect(error).toMatchObject({ name: 'TransportError', kind: 'refused', maybeProcessed: false })
    expect(error.message).toContain('ECONNREFUSED')
  })

  test('a transport rejects with `refused` if the server closes during the TLS handshake', async () => {
    const port = await listen(createNetServer((socket) => socket.on('data', () => socket.destroy())))
    const error = await failureOf(create(`https://127.0.0.1:${port}`)(post))
    expect(error).toMatchObject({ kind: 'refused', maybeProcessed: false })
  })

  test('a transport rejects with `untrusted` for a self-signed certificate, and sends nothing', async () => {
    let requests = 0
    const server = createTlsServer(selfSigned, (socket) => {
      socket.on('data', () => {
        requests += 1
      })
    })
    const error = await failureOf(create(`https://127.0.0.1:${await listen(server)}`)(post))
    expect(error).toMatchObject({ kind: 'untrusted', maybeProcessed: false })
    expect(error.message).toContain('the certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)')
    expect(requests).toBe(0)
  })

  test('a transport rejects with `lost` if the connection closes before the response', async () => {
    const server = await rawServer((socket) => socket.destroy())
    const error = await failureOf(create(server.baseUrl)(post))
    expect(error).toMatchObject({ kind: 'lost', maybeProcessed: true })
  })

  test('a transport rejects with `lost` if the response body is shorter than its Content-Length', async () => {
    const server = await rawServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}'))
    expect(await failureOf(create(server.baseUrl)(post))).toMatchObject({ kind: 'lost', maybeProcessed: true })
  })

  test('a transport rejects with `lost` if a chunked response has no last chunk', async () => {
    const server = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n'),
    )
    expect(await failureOf(create(server.baseUrl)(post))).toMatchObject({ kind: 'lost', maybeProcessed: true })
  })

  test('a transport rejects with `lost` if the response is not HTTP', async () => {
    const server = await rawServer((socket) => socket.end('SSH-2.0-server\r\n\r\n'))
    expect(await failureOf(create(server.baseUrl)(post))).toMatchObject({ kind: 'lost' })
  })

  test('a transport rejects with `timeout` if no response arrives within the time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const server = await rawServer(() => vi.advanceTimersByTime(100))
    const error = await failureOf(create(server.baseUrl)({ ...post, timeoutMs: 100 }))
    expect(error).toMatchObject({ kind: 'timeout', maybeProcessed: true })
  })

  test('a transport rejects with `timeout` if the body is incomplete at the time limit', async () => {
    const server = await rawServer((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}'))
    expect(await failureOf(create(server.baseUrl)({ ...post, timeoutMs: 100 }))).toMatchObject({ kind: 'timeout' })
  })

  test('a transport rejects with `aborted` if the signal fires during the request', async () => {
    const controller = new AbortController()
    const server = await rawServer(() => controller.abort())
    const error = await failureOf(create(server.baseUrl)({ ...post, signal: controller.signal }))
    expect(error).toMatchObject({ kind: 'aborted', maybeProcessed: true })
  })

  test('a transport sends nothing if its signal has already fired', async () => {
    const server = await rawServer(() => {})
    const error = await failureOf(create(server.baseUrl)({ ...post, signal: AbortSignal.abort() }))
    expect(error).toMatchObject({ kind: 'aborted', maybeProcessed: false })
    expect(server.received).toEqual([])
  })

  test('a transport rejects with `lost` if the response exceeds 64 MiB', async () => {
    const server = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      const chunk = Buffer.alloc(1024 * 1024, 'x')
      const feed = () => {
        while (
          !socket.destroyed &&
          socket.write(Buffer.concat([Buffer.from('100000\r\n'), chunk, Buffer.from('\r\n')]))
        );
      }
      socket.on('drain', feed)
      feed()
    })
    const error = await failureOf(create(server.baseUrl)(post))
    expect(error).toMatchObject({ kind: 'lost' })
    expect(error.message).toContain('larger')
  })

  test('transport errors never contain the credential', async () => {
    const dropping = await rawServer((socket, request) => socket.end(request))
    const errors = [
      await failureOf(create(dropping.baseUrl)(post)),
      await failureOf(create(`http://127.0.0.1:${await closedPort()}`)(post)),
    ]
    for (const error of errors) {
      expect(JSON.stringify([error, error.message, error.stack, error.cause ?? null])).not.toContain('sop_secret')
    }
  })

  test.each(['ftp://x', 'x', '', 'http://user:pw@x', 'http://x/?a=1', 'http://x/#a'])(
    'a transport throws TypeError for the base URL %j',
    (baseUrl) => {
      expect(() => create(baseUrl)).toThrow(TypeError)
      expect(() => create(baseUrl)).not.toThrow(/pw/)
    },
  )
})

test('the pool transport reuses its connection for consecutive requests', async () => {
  let connections = 0
  const server = createServer((request, response) => request.resume().on('end', () => response.end('{}')))
  server.on('connection', () => {
    connections += 1
  })
  const send = pooled(`http://127.0.0.1:${await listen(server)}`)
  for (let calls = 0; calls < 10; calls += 1) await send(post)
  expect(connections).toBeLessThan(3)
})

test('isTransportError accepts an error with the right code from another copy of the module', () => {
  const other = Object.assign(new Error('No connection'), { code: 'TRANSPORT_ERROR' })
  expect(
    [other, new TransportError('refused', 'No connection'), new Error('No connection')].map(isTransportError),
  ).toEqual([true, true, false])
})
