import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { bearerLine, RawConnection } from '../../support/server/raw.js'
import { type LiveServer, liveServer } from '../../support/server/server.js'
import { newTenant, type Tenant, templateBody } from '../../support/server/tenant.js'

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

interface Message {
  readonly bytes: () => string
  readonly status: number
  /** Whether the server closes the connection with this response. */
  readonly last?: true
}

const bearer = () => `Host: x\r\n${bearerLine(tenant.token)}`
const create = (headers: string, body: string) =>
  `POST ${CREATE} HTTP/1.1\r\n${bearer()}${headers}Content-Length: ${body.length}\r\n\r\n${body}`
const JSON_TYPE = 'Content-Type: application/json\r\n'
const chunked = (body: string) =>
  `POST ${CREATE} HTTP/1.1\r\n${bearer()}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n` +
  `${body.length.toString(16)};ext=1\r\n${body}\r\n0\r\nTrailer: x\r\n\r\n`

const messages: Readonly<Record<string, Message>> = {
  list: { bytes: () => `GET ${LIST} HTTP/1.1\r\n${bearer()}\r\n`, status: 200 },
  'list with a body': { bytes: () => `GET ${LIST} HTTP/1.1\r\n${bearer()}Content-Length: 5\r\n\r\nhello`, status: 200 },
  'empty lines first': { bytes: () => '\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', status: 200 },
  create: { bytes: () => create(JSON_TYPE, JSON.stringify(templateBody())), status: 201 },
  'create in chunks': { bytes: () => chunked(JSON.stringify(templateBody())), status: 201 },
  'no route': { bytes: () => 'DELETE /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd', status: 404 },
  'no method': { bytes: () => `PUT ${LIST} HTTP/1.1\r\nHost: x\r\n\r\n`, status: 405 },
  'no credential': { bytes: () => `POST ${CREATE} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`, status: 401 },
  'no host': { bytes: () => 'GET /healthz HTTP/1.1\r\n\r\n', status: 400 },
  'another encoding': { bytes: () => create(`${JSON_TYPE}Content-Encoding: gzip\r\n`, '{}'), status: 415 },
  'a kept connection of HTTP/1.0': {
    bytes: () => 'GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
    status: 200,
  },
  'no type': { bytes: () => create('', '{}'), status: 415, last: true },
  'too long a body': { bytes: () => create(JSON_TYPE, ' '.repeat(70_000)), status: 413, last: true },
  'no JSON': { bytes: () => create(JSON_TYPE, '{x'), status: 400, last: true },
  'the last wish': {
    bytes: () => `GET ${LIST} HTTP/1.1\r\n${bearer()}Connection: close\r\n\r\n`,
    status: 200,
    last: true,
  },
  'HTTP/1.0': { bytes: () => 'GET /healthz HTTP/1.0\r\n\r\n', status: 200, last: true },
  garbage: { bytes: () => 'garbage\r\n\r\n', status: 400, last: true },
  'a tunnel': { bytes: () => 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', status: 404, last: true },
}

it('server responds in order to pipelined messages, however they are split', { tags: 'connections/1' }, async () => {
  const names = fc.array(fc.constantFrom(...Object.keys(messages)), { minLength: 1, maxLength: 8 })
  const pieces = fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(names, pieces, async (chosen, sizes) => {
      const row = [...chosen, 'the last wish'].map((name) => messages[name] as Message)
      const until = row.findIndex(({ last }) => last) + 1
      const connection = await RawConnection.to(server.port)
      let bytes = row.map((message) => message.bytes()).join('')
      for (const size of sizes) {
        connection.write(bytes.slice(0, size))
        bytes = bytes.slice(size)
        // Let the socket send this chunk before the next is written.
        await new Promise((resolve) => setImmediate(resolve))
      }
      connection.write(bytes)
      const statuses: number[] = []
      for (let count = 0; count < until; count++) {
        const response = await connection.response()
        expect(response.envelope.requestId).toMatch(/^req_/)
        statuses.push(response.status)
      }
      expect(statuses).toEqual(row.slice(0, until).map(({ status }) => status))
      await connection.end()
      expect(connection.received).toBe('')
    }),
    { numRuns: 150 },
  )
})
