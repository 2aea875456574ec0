import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failures, isFailureCode } from '../../../src/contract/errors.js'
import { contract } from '../../../src/contract/index.js'
import { testApp } from '../../support/server/app.js'
import type { ApiResponse } from '../../support/server/client.js'
import { bearerLine, getBytes, portOf, RawConnection, rawResponse } from '../../support/server/raw.js'
import { type LiveServer, liveServer } from '../../support/server/server.js'
import { codeOf, newTenant, type Tenant, templateBody } from '../../support/server/tenant.js'

fc.configureGlobal({ seed: 1 })

let server: LiveServer
let tenant: Tenant
beforeAll(async () => {
  server = await liveServer()
  tenant = await newTenant(server)
})
afterAll(() => server.close())

const LIST = contract.templates.list.path
const CREATE = contract.templates.create.path
const REDEEM = contract.vouchers.redeem.path

const bearer = () => bearerLine(tenant.token)
const get = (target: string, headers = bearer()) => getBytes(target, headers)
const post = (path: string, body: string, headers = '') =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${bearer()}Content-Type: application/json\r\n${headers}` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** Expects the failure envelope, with a declared failure code and the status of that code. */
function expectEnvelope(response: ApiResponse, code?: string): void {
  const { envelope } = response
  if (envelope.success) throw new Error(`${response.status} ${response.text}`)
  if (!isFailureCode(envelope.code)) throw new Error(`${envelope.code} is not in the table`)
  expect(response.status).toBe(failures[envelope.code].status)
  expect(response.status).toBeLessThan(500)
  expect(envelope.requestId).toBe(response.headers['x-request-id'])
  expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  if (code !== undefined) expect(envelope.code).toBe(code)
}

describe('request headers', () => {
  it('duplicate Authorization headers are refused, even if equal', { tags: 'connections/4' }, async () => {
    expectEnvelope(await rawResponse(server.port, get(LIST, bearer() + bearer())), 'TOKEN_INVALID')
    expectEnvelope(await rawResponse(server.port, get(LIST, `${bearer()}authorization: Bearer x\r\n`)), 'TOKEN_INVALID')
  })

  it('duplicate Idempotency-Key headers are refused, even if equal', { tags: 'idempotency-keys/2' }, async () => {
    const body = JSON.stringify({ credential: codeOf(await tenant.issue()) })
    const twice = 'Idempotency-Key: K\r\nidempotency-key: K\r\n'
    expectEnvelope(await rawResponse(server.port, post(REDEEM, body, twice)), 'IDEMPOTENCY_KEY_INVALID')
    expect((await rawResponse(server.port, post(REDEEM, body, 'idempotency-KEY:  K \r\n'))).status).toBe(200)
  })

  it.each(['a b', 'a\tb', 'caf\u00e9', '""', '', 'a,b c'])(
    'Idempotency-Key %j is refused as malformed',
    { tags: 'idempotency-keys/2' },
    async (key) => {
      const body = JSON.stringify({ credential: { type: 'redeem_code', value: '0000-0000-0000-0000' } })
      const response = await rawResponse(server.port, post(REDEEM, body, `Idempotency-Key: ${key}\r\n`))
      expectEnvelope(response, 'IDEMPOTENCY_KEY_INVALID')
    },
  )

  it('request with two Host headers is accepted', async () => {
    expect((await rawResponse(server.port, get(LIST, `Host: y\r\n${bearer()}`))).status).toBe(200)
  })

  it('request without a Host header is refused in HTTP/1.1 and accepted in HTTP/1.0', async () => {
    expectEnvelope(
      await rawResponse(server.port, `GET ${LIST} HTTP/1.1\r\nConnection: close\r\n\r\n`),
      'VALIDATION_FAILED',
    )
    expect((await rawResponse(server.port, `GET ${LIST} HTTP/1.0\r\n${bearer()}\r\n`)).status).toBe(200)
  })

  it('unknown Expect header is ignored', async () => {
    const response = await rawResponse(
      server.port,
      `POST ${CREATE} HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
    )
    expectEnvelope(response, 'TOKEN_MISSING')
  })

  it('Expect: 100-continue gets a 100 response', async () => {
    const body = JSON.stringify(templateBody())
    const connection = await RawConnection.to(server.port)
    const [head = '', ...rest] = post(CREATE, body, 'Expect: 100-continue\r\n').split('\r\n\r\n')
    connection.write(`${head}\r\n\r\n`)
    expect((await connection.response()).status).toBe(100)
    expect((await connection.write(rest.join('\r\n\r\n')).response()).status).toBe(201)
    connection.destroy()
  })

  it('request with more than 16 KiB of headers gets 413', { tags: 'connections/2' }, async () => {
    const response = await rawResponse(server.port, get(LIST, `${bearer()}X-Filler: ${'x'.repeat(20_000)}\r\n`))
    expectEnvelope(response, 'PAYLOAD_TOO_LARGE')
    expectEnvelope(await rawResponse(server.port, get(`/${'x'.repeat(20_000)}`)), 'PAYLOAD_TOO_LARGE')
  })
})

describe('request body lengths', () => {
  it.each([
    ['two different lengths', 'Content-Length: 2\r\nContent-Length: 3\r\n'],
    ['two equal lengths', 'Content-Length: 2\r\nContent-Length: 2\r\n'],
    ['a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
    ['a non-numeric length', 'Content-Length: two\r\n'],
    ['a negative length', 'Content-Length: -1\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: gzip\r\n'],
    ['chunks below another coding', 'Transfer-Encoding: chunked, identity\r\n'],
  ])('request with %s is refused and closes the connection', async (_what, headers) => {
    const connection = await RawConnection.to(server.port)
    connection.write(
      `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}Content-Type: application/json\r\n${headers}\r\n{}`,
    )
    expectEnvelope(await connection.response())
    await connection.end()
  })

  it('request with a too large Content-Length is refused before its body is sent', { tags: 'bodies/2' }, async () => {
    const head = `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}Content-Type: application/json\r\n`
    expectEnvelope(await rawResponse(server.port, `${head}Content-Length: 65537\r\n\r\n`), 'PAYLOAD_TOO_LARGE')
    expectEnvelope(
      await rawResponse(server.port, `${head}Content-Length: 9007199254740991\r\n\r\n`),
      'PAYLOAD_TOO_LARGE',
    )
  })

  it('chunked body that is too long is refused before its end', async () => {
    const connection = await RawConnection.to(server.port)
    connection.write(
      `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    for (let chunk = 0; chunk < 9; chunk++) connection.write(`2000\r\n${' '.repeat(0x2000)}\r\n`)
    expectEnvelope(await connection.response(), 'PAYLOAD_TOO_LARGE')
    connection.destroy()
  })

  it('chunked request body is accepted', async () => {
    const body = JSON.stringify(templateBody())
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const head = `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}Content-Type: application/json\r\n`
    expect((await rawResponse(server.port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`)).status).toBe(201)
  })

  it.each(['', 'Content-Type: application/json\r\n', 'Content-Type: text/plain\r\n'])(
    'empty chunked body counts as no body whatever the content type: %j',
    async (type) => {
      const template = await tenant.draft()
      const path = contract.templates.submit.path.replace(':templateId', template.id)
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${bearer()}${type}Transfer-Encoding: chunked\r\n\r\n`
      expect((await rawResponse(server.port, `${head}0\r\n\r\n`)).status).toBe(200)
    },
  )

  it('chunked body of one byte without a content type is refused', async () => {
    const connection = await RawConnection.to(server.port)
    connection.write(`POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`)
    expectEnvelope(await connection.response(), 'UNSUPPORTED_MEDIA_TYPE')
    await connection.end()
  })

  it('client that disconnects within a request body causes no server error', async () => {
    const own = testApp()
    const clerk = await newTenant(own)
    const port = await portOf(own.app)
    const left = new Promise((resolve) => own.app.server.once('connection', (socket) => socket.once('close', resolve)))
    const reached = new Promise((resolve) => own.app.server.once('request', resolve))
    const connection = await RawConnection.to(port)
    connection.write(
      `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearerLine(clerk.token)}` +
        'Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"name":',
    )
    await reached
    // The store completes its reads at the end of a tick; after that the server waits for the body.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    connection.destroy()
    await left
    await new Promise((resolve) => setImmediate(resolve))
    expect(own.errors).toEqual([])
    await own.close()
  })
})

describe('request lines', () => {
  it('request with an absolute URL as its target reaches the path of the URL', async () => {
    expect((await rawResponse(server.port, get(`http://anything.example${LIST}`))).status).toBe(200)
    expectEnvelope(await rawResponse(server.port, get('http://anything.example/nothing')), 'ROUTE_NOT_FOUND')
    expectEnvelope(await rawResponse(server.port, get('http://anything.example')), 'ROUTE_NOT_FOUND')
    const put = `PUT http://anything.example${LIST} HTTP/1.1\r\nHost: x\r\n\r\n`
    const response = await rawResponse(server.port, put)
    expectEnvelope(response, 'METHOD_NOT_ALLOWED')
    expect(response.headers.allow).toBe('GET, HEAD, POST')
  })

  it('repeated call with an absolute URL as its request target gets the recorded response', async () => {
    const body = JSON.stringify({ credential: codeOf(await tenant.issue()) })
    const first = await rawResponse(server.port, post(REDEEM, body, 'Idempotency-Key: absolute\r\n'))
    const again = await rawResponse(server.port, post(`http://x${REDEEM}`, body, 'Idempotency-Key: absolute\r\n'))
    expect([first.status, again.status, again.headers['idempotent-replayed']]).toEqual([200, 200, 'true'])
  })

  it.each([
    '*',
    '//',
    '//x',
    '/../../etc/passwd',
    '/%',
    '/%00',
    '/%ff%fe',
    '/a%2fb',
    '/?%',
    '/#x',
    '/\\',
    '/api/v1/%zz/x',
  ])('request target %s gets a response with the failure envelope', async (target) =>
    expectEnvelope(await rawResponse(server.port, get(target))),
  )

  it('malformed percent escape in the id of a path is refused as an unknown id', { tags: 'bodies/5' }, async () => {
    const response = await rawResponse(server.port, get('/api/v1/open-platform/vouchers/redemptions/%zz'))
    expectEnvelope(response, 'REDEMPTION_NOT_FOUND')
  })

  it.each([
    ['not HTTP', 'hello\r\n\r\n'],
    ['TLS', Buffer.from('160301020001000100', 'hex')],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no version', 'GET /\r\nHost: x\r\n\r\n'],
    ['an unknown version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a space in the target', `GET /a b HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a header without a name', 'GET / HTTP/1.1\r\n: x\r\n\r\n'],
    ['a header name with a space', 'GET / HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['a control character in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: \u0000\r\n\r\n'],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: x\n\n'],
  ])('malformed HTTP request gets a failure envelope: %s', { tags: 'connections/2' }, async (_what, bytes) => {
    const connection = await RawConnection.to(server.port)
    connection.write(bytes)
    expectEnvelope(await connection.response())
    connection.destroy()
  })

  it('CONNECT is refused as an unknown route', async () => {
    const connection = await RawConnection.to(server.port)
    connection.write('CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n')
    expectEnvelope(await connection.response(), 'ROUTE_NOT_FOUND')
    connection.destroy()
  })

  it('request with a wrong charset or encoding gets 415 even if it is too long', { tags: 'bodies/2' }, async () => {
    const body = JSON.stringify({ name: 'x'.repeat(70_000) })
    for (const header of ['Content-Encoding: gzip\r\n', 'Content-Type: application/json; charset=latin1\r\n']) {
      const type = header.startsWith('Content-Type') ? '' : 'Content-Type: application/json\r\n'
      const response = await rawResponse(
        server.port,
        `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}${type}${header}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      expectEnvelope(response, 'UNSUPPORTED_MEDIA_TYPE')
    }
  })

  it('request with an unsupported Upgrade header gets its normal response', async () => {
    const headers = `${bearer()}Connection: Upgrade\r\nUpgrade: websocket\r\n`
    expect((await rawResponse(server.port, get(LIST, headers))).status).toBe(200)
  })

  it('requests pipelined on one connection get their responses in order', { tags: 'connections/1' }, async () => {
    const connection = await RawConnection.to(server.port)
    connection.write(get(LIST) + get('/nothing') + get('/healthz'))
    const statuses = [await connection.response(), await connection.response(), await connection.response()].map(
      (it) => it.status,
    )
    expect(statuses).toEqual([200, 404, 200])
    connection.destroy()
  })
})

describe('slow clients', () => {
  it('HTTP timeouts are 10 s for headers, 15 s for a request, 65 s when idle', { tags: 'connections/2' }, async () => {
    const { app, close } = testApp()
    const { headersTimeout, requestTimeout, keepAliveTimeout } = app.server
    expect([headersTimeout, requestTimeout, keepAliveTimeout]).toEqual([10_000, 15_000, 65_000])
    await close()
  })

  it('client that never completes a request is refused and disconnected', { tags: 'connections/2' }, async () => {
    const { app, close } = testApp()
    const port = await portOf(app)
    Object.assign(app.server, { headersTimeout: 50, requestTimeout: 50 })
    const slow = [await RawConnection.to(port), await RawConnection.to(port)]
    slow[0]?.write('GET / HTTP/1.1\r\nHost')
    slow[1]?.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Le')
    for (const connection of slow) {
      expectEnvelope(await connection.response(), 'INVALID_JSON')
      await connection.end()
    }
    await close()
  })

  it('connection on which nothing was sent is closed at the timeout without a response', async () => {
    const { app, close } = testApp()
    const port = await portOf(app)
    Object.assign(app.server, { headersTimeout: 50, requestTimeout: 50 })
    const connection = await RawConnection.to(port)
    await connection.end()
    expect(connection.received).toBe('')
    await close()
  })
})

it('random bytes on a connection never cause a 5xx and never stop the server', async () => {
  const token = fc.constantFrom(
    'GET ',
    'POST ',
    LIST,
    CREATE,
    '/%',
    ' HTTP/1.1',
    '\r\n',
    '\r\n\r\n',
    'Host: x\r\n',
    'Content-Length: 5\r\n',
    'Content-Length: 2\r\n',
    'Transfer-Encoding: chunked\r\n',
    '{}',
    '5\r\n',
    '0\r\n\r\n',
    '\u0000',
    'Expect: x\r\n',
    'Content-Type: application/json\r\n',
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(token, fc.string({ maxLength: 8 })), { maxLength: 12 }), async (parts) => {
      const connection = await RawConnection.to(server.port)
      connection.write(parts.join('')).write('\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      for (;;) {
        const response = await connection.response().catch(() => null)
        if (response === null) break
        expect(response.status).toBeLessThan(500)
      }
      connection.destroy()
    }),
    { numRuns: 100 },
  )
  expect((await server.send({ method: 'GET', path: '/healthz' })).status).toBe(200)
})
