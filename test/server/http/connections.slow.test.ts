import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { testApp } from '../../support/server/app.js'
import { bearerLine, getBytes, portOf, RawConnection } from '../../support/server/raw.js'
import { type LiveServer, liveServer } from '../../support/server/server.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'

let server: LiveServer
let tenant: Tenant
beforeAll(async () => {
  server = await liveServer()
  tenant = await newTenant(server)
})
afterAll(() => server.close())

const LIST = contract.templates.list.path
const CREATE = contract.templates.create.path
const bearer = () => bearerLine(tenant.token)
const get = (target: string, headers = bearer()) => getBytes(target, headers)

/** Delays the next list of templates, so that later requests on the connection must wait. */
const slowList = (delay_ms = 100) =>
  tenant.operator(contract.platform.addFault, { endpoint: 'templates.list', kind: 'delay', times: 1, delay_ms })

/** Writes to a new connection; returns status and failure code of every response until the server closes it. */
async function responsesTo(...writes: string[]): Promise<(readonly [number, string | null])[]> {
  const connection = await RawConnection.to(server.port)
  for (const bytes of writes) connection.write(bytes)
  const responses: (readonly [number, string | null])[] = []
  for (;;) {
    const response = await connection.response().catch(() => null)
    if (response === null) break
    responses.push([response.status, response.code])
  }
  await connection.end()
  expect(connection.received).toBe('')
  return responses
}

const OK = [200, null] as const
const REFUSED = [400, 'VALIDATION_FAILED'] as const

describe('malformed message after pipelined requests', { tags: 'connections/2' }, () => {
  it.each([
    ['garbage', 'garbage\r\n\r\n', REFUSED],
    ['garbage in several chunks', 'g\r\n\r\nGET / HTTP/1.1\r\n\r\n', REFUSED],
    ['a CONNECT request', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\nbytes', [404, 'ROUTE_NOT_FOUND'] as const],
    ['headers that are too large', get('/', `X: ${'x'.repeat(20_000)}\r\n`), [413, 'PAYLOAD_TOO_LARGE'] as const],
    ['a malformed length', `POST ${CREATE} HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n{}`, REFUSED],
  ])('malformed HTTP message gets one response, after the earlier responses: %s', async (_what, bytes, last) => {
    await slowList()
    expect(await responsesTo(get(LIST) + get(LIST) + bytes)).toEqual([OK, OK, last])
    await slowList()
    expect(await responsesTo(get(LIST) + get(LIST), ...bytes.split(/(?<=\r\n\r\n)/))).toEqual([OK, OK, last])
  })

  it('server survives a client that resets a CONNECT connection before the response', async () => {
    await slowList()
    const logged = server.logs.length
    const socket = connect({ port: server.port, host: '127.0.0.1', noDelay: true })
    socket.write(`${get(LIST)}CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`, () => socket.resetAndDestroy())
    await vi.waitFor(() => expect(server.logs.length).toBeGreaterThan(logged), 30_000)
    await server.send({ method: 'GET', path: '/healthz' })
  })

  it('request with a malformed body gets one response', async () => {
    const broken =
      `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${bearer()}Content-Type: application/json\r\n` +
      'Transfer-Encoding: chunked\r\n\r\nnonsense\r\n'
    await slowList()
    expect(await responsesTo(get(LIST) + broken + get(LIST))).toEqual([OK, REFUSED])
  })

  it('request with a response gets no second one when its body turns out to be malformed', async () => {
    const connection = await RawConnection.to(server.port)
    connection.write(`POST ${CREATE} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`)
    expect((await connection.response()).code).toBe('TOKEN_MISSING')
    connection.write('nonsense\r\n\r\n')
    await connection.end()
    expect(connection.received).toBe('')
  })
})

it('request with a response gets no second one when its body times out', async () => {
  const { app, close } = testApp()
  const port = await portOf(app)
  const connection = await RawConnection.to(port)
  connection.write(`POST ${CREATE} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{`)
  expect((await connection.response()).code).toBe('TOKEN_MISSING')
  // Earlier, the timeout of a slow connection could come before the response.
  Object.assign(app.server, { headersTimeout: 50, requestTimeout: 50 })
  await connection.end()
  expect(connection.received).toBe('')
  await close()
})

describe('clients that half-close their connection', () => {
  it('client that half-closes its connection receives every pending response', async () => {
    await slowList(20)
    const text = await halfClosed(get(LIST) + get(LIST))
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  })

  it('client that half-closes its connection within a request receives 400', async () => {
    expect(await halfClosed('GET / HTTP/1.1\r\nHos')).toMatch(/^HTTP\/1\.1 400 /)
    await slowList(20)
    expect((await halfClosed(`${get(LIST)}GET / HT`)).match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 400',
    ])
  })
})

/** Sends the bytes, half-closes the connection and returns everything received. */
function halfClosed(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', reject)
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(text))
    socket.end(bytes)
  })
}

describe('client that reads only after sending everything', { tags: 'connections/2' }, () => {
  const MEGABYTES = 10
  const json = 'Content-Type: application/json\r\n'
  const declared = `Content-Length: ${MEGABYTES * 1024 * 1024}\r\n`

  it.each([
    ['a body that is too long', 413, () => `${bearer()}${json}${declared}`],
    ['a chunked body that is too long', 413, () => `${bearer()}${json}Transfer-Encoding: chunked\r\n`],
    ['a body of another type', 415, () => `${bearer()}Content-Type: text/plain\r\n${declared}`],
    ['a chunked body of another type', 415, () => `${bearer()}Transfer-Encoding: chunked\r\n`],
    ['no credential', 401, () => declared],
    ['no credential, and Connection: close', 401, () => `Connection: close\r\n${declared}`],
  ])(
    'client that reads only after sending its whole body receives the refusal of %s',
    async (_what, status, headers) => {
      for (let attempt = 0; attempt < 20; attempt++) {
        const head = `POST ${CREATE} HTTP/1.1\r\nHost: x\r\n${headers()}\r\n`
        expect(await responseAfterSending(head, head.includes('chunked'))).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      }
    },
  )

  const megabyte = Buffer.alloc(1024 * 1024, ' ')
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), megabyte, Buffer.from('\r\n')])

  function responseAfterSending(head: string, inChunks: boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', reject)
      socket.write(head)
      for (let sent = 0; sent < MEGABYTES; sent++) socket.write(inChunks ? chunk : megabyte)
      socket.write(inChunks ? '0\r\n\r\n' : '', (error) => {
        if (error) return reject(error)
        socket.once('data', (text) => {
          resolve(text.toString('latin1'))
          socket.destroy()
        })
      })
    })
  }
})
