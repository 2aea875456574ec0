import type { Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { closedPort } from '../../support/closed-port.js'
import { selfSigned } from '../../support/secure/self-signed.js'
import { chunksOf } from '../../support/server/request-body.js'
import { expiredHooksExampleCom, hooksExampleCom } from './certificates.js'
import {
  httpReceiver,
  internet,
  internetExcept,
  lookup,
  publicAddress,
  rawReceiver,
  respondWith,
  senderFor,
  silent,
  tcpReceiver,
  tlsReceiver,
} from './delivering.js'

describe('webhook delivery', () => {
  it('delivery is an HTTP POST with exactly the given body and headers', async () => {
    const requests: unknown[] = []
    const { send, url } = await httpReceiver(async (request, response) => {
      const body = Buffer.concat(await chunksOf(request))
      requests.push({ ...request.headers, line: `${request.method} ${request.url}`, body })
      response.end()
    })
    const body = Buffer.from('{"update_id":1,\r\n "type":"ü"}\0')
    await send(`${url}/a%20b?c=d&e`, {
      body,
      headers: { 'content-type': 'application/json', 'X-Platform-Timestamp': '1' },
    })
    expect(requests).toEqual([
      {
        line: 'POST /hook/a%20b?c=d&e',
        host: new URL(url).host,
        connection: 'keep-alive',
        'content-type': 'application/json',
        'content-length': String(body.length),
        'x-platform-timestamp': '1',
        body,
      },
    ])
  })

  it.each([200, 201, 202, 204, 299])('delivery succeeds with the response status %i', async (status) => {
    const { send, url } = await httpReceiver((_request, response) => response.writeHead(status).end())
    expect(await send(url)).toEqual({
      statusCode: status,
      error: null,
      durationMs: expect.any(Number),
      ipAddress: '127.0.0.1',
      response: expect.anything(),
    })
  })

  it.each([400, 401, 404, 410, 429, 500, 503, 599, 600, 999])(
    'delivery fails with http_status for the response status %i',
    async (status) => {
      const { send, url } = await rawReceiver(respondWith(`HTTP/1.1 ${status} X\r\nContent-Length: 4\r\n\r\nbusy`))
      expect(await send(url)).toMatchObject({
        statusCode: status,
        error: { code: 'http_status', message: `The endpoint responded with ${status} instead of 2xx.` },
      })
    },
  )

  it.each([100, 102, 103])(
    'delivery that gets interim response %i waits for the final response, but fails for 100',
    async (status) => {
      const { send, url } = await rawReceiver(
        respondWith(`HTTP/1.1 ${status} X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`),
      )
      // Undici 7.30 rejects a 100 response to a request without Expect.
      const expected = status === 100 ? { error: { code: 'response_invalid' } } : { error: null, statusCode: 200 }
      expect(await send(url)).toMatchObject(expected)
    },
  )

  it('send() of the sender rejects a header that HTTP does not allow', async () => {
    const { send, url, connections } = await httpReceiver((_request, response) => response.end())
    await expect(send(url, { headers: { 'x-a': 'b\r\nx-c: d' } })).rejects.toThrow('invalid x-a header')
    expect(connections).toEqual([])
  })
})

describe('invalid response to a delivery', () => {
  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['an unknown HTTP version', 'HTTP/1.7 200 OK\r\n\r\n'],
    ['a non-numeric status', 'HTTP/1.1 abc\r\n\r\n'],
    ['a header with a control character', 'HTTP/1.1 200 OK\r\nA: \0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
    ['a head that is too large', `HTTP/1.1 200 OK\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(10_000)}\r\n`],
  ])('delivery fails with response_invalid if the response has %s', async (_, bytes) => {
    const { send, url } = await rawReceiver(respondWith(bytes))
    expect(await send(url)).toMatchObject({ statusCode: null, error: { code: 'response_invalid' } })
  })

  it('delivery fails with response_invalid if the connection ends within the response head', async () => {
    const { send, url } = await rawReceiver((socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Le'))
    expect(await send(url)).toMatchObject({ error: { code: 'response_invalid' } })
  })

  it.each([
    ['ends', (socket: Socket) => void socket.end()],
    ['is reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('delivery fails with connection_reset if the connection %s before the response', async (_, response) => {
    const { send, url } = await rawReceiver(response)
    expect(await send(url)).toMatchObject({
      error: { code: 'connection_reset', message: 'The endpoint closed the connection without a response.' },
      ipAddress: '127.0.0.1',
    })
  })

  it.each([
    ['less than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz'],
  ])('delivery succeeds on a 2xx status even if the response body has %s', async (_, bytes) => {
    const { send, url } = await rawReceiver((socket) => void socket.end(bytes))
    expect(await send(url)).toMatchObject({ error: null, statusCode: 200 })
  })
})

describe('unreachable receiver', () => {
  it('delivery fails with connection_refused if no receiver listens', async () => {
    const port = await closedPort()
    const { send } = senderFor({ loopbackPorts: new Set([port]) })
    expect(await send(`http://127.0.0.1:${port}/`)).toMatchObject({
      error: { code: 'connection_refused' },
      ipAddress: '127.0.0.1',
    })
  })

  it('delivery tries the next address of the host if the first refuses the connection', async () => {
    const { port } = await tlsReceiver(hooksExampleCom)
    const [refusing, reachable] = [await closedPort(), internet(port)]
    const { send } = senderFor({
      ...internetExcept('93.184.216.1', refusing, reachable),
      lookup: async () => ['93.184.216.1', '93.184.216.2', '2606:4700::1'],
    })
    expect(await send('https://hooks.example.com/')).toMatchObject({ error: null, ipAddress: '93.184.216.2' })
    expect(reachable.dialled).toEqual(['93.184.216.2 443'])
  })

  it('delivery whose request was sent is not repeated at another address', async () => {
    const { port } = await tcpReceiver(silent)
    const otherNetwork = internet(port)
    const server = await tlsReceiver(hooksExampleCom, {}, (socket) => socket.destroy())
    const { send } = senderFor({
      ...internetExcept('93.184.216.1', server.port, otherNetwork),
      lookup: async () => ['93.184.216.1', '93.184.216.2'],
    })
    expect(await send('https://hooks.example.com/')).toMatchObject({
      error: { code: 'connection_reset' },
      ipAddress: '93.184.216.1',
    })
    expect(otherNetwork.dialled).toEqual([])
  })

  it('delivery tries at most four addresses of a host', async () => {
    const { dialled, options } = internet(await closedPort())
    const { send } = senderFor({
      ...options,
      lookup: async () => Array.from({ length: 99 }, (_, index) => `93.184.216.${index}`),
    })
    expect(await send('https://hooks.example.com/')).toMatchObject({
      error: { code: 'connection_refused' },
      ipAddress: '93.184.216.0',
    })
    expect(dialled).toHaveLength(4)
  })

  it('delivery fails with lookup_failed if the host has no address', async () => {
    const { send } = senderFor({ lookup: () => Promise.reject(new Error('ENOTFOUND hooks.example.com')) })
    expect(await send('https://hooks.example.com/')).toMatchObject({
      error: { code: 'lookup_failed' },
      ipAddress: null,
    })
  })
})

describe('TLS of a delivery', () => {
  it('TLS certificate of a trusted authority is accepted for a host name and an IP address', async () => {
    const byAddress = await tlsReceiver(selfSigned, { ca: selfSigned.cert })
    expect(await byAddress.send(byAddress.url)).toMatchObject({ error: null })
    const byName = await tlsReceiver(hooksExampleCom)
    const { send } = senderFor({ ...internet(byName.port).options, lookup })
    expect(await send('https://hooks.example.com/')).toMatchObject({ error: null, ipAddress: publicAddress })
    expect(await send('https://hooks.example.com.:8443/')).toMatchObject({ error: null })
  })

  it('self-signed certificate fails with NODE_TLS_REJECT_UNAUTHORIZED=0', { tags: 'delivery-attempts/1' }, async () => {
    const { send, url } = await tlsReceiver(selfSigned)
    // Suppress Node's warning about the variable.
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => {
      vi.unstubAllEnvs()
      warning.mockRestore()
    })
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    expect(await send(url)).toMatchObject({ error: { code: 'certificate_self_signed' }, statusCode: null })
  })

  it.each([
    ['for another host', hooksExampleCom, 'https://other.example.com/', 'certificate_other_host'],
    [
      'for a name, where the URL has an address',
      hooksExampleCom,
      `https://${publicAddress}/`,
      'certificate_other_host',
    ],
    ['that is expired', expiredHooksExampleCom, 'https://hooks.example.com/', 'certificate_expired'],
  ])('TLS certificate %s is refused', async (_, certificate, url, code) => {
    const { port } = await tlsReceiver(certificate)
    const { send } = senderFor({ ...internet(port).options, ca: certificate.cert, lookup })
    expect(await send(url)).toMatchObject({ error: { code }, ipAddress: publicAddress })
  })

  it.each([
    [
      'is plain HTTP',
      (socket: Socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    ],
    ['ends', (socket: Socket) => void socket.once('data', () => socket.end())],
    ['is reset', (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy())],
  ])('delivery fails with tls_failed if the TLS handshake %s', async (_, accept) => {
    const { send, url } = await tcpReceiver(accept)
    expect(await send(url)).toMatchObject({ error: { code: 'tls_failed' } })
  })
})
