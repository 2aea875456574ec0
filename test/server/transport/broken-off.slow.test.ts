import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { RequestLogEntry } from '../../../src/contract/platform/activity.js'
import { MEDIA_TYPE, paths } from '../../../src/secure/index.js'
import { RawConnection } from '../../support/server/raw.js'
import { type LiveServer, liveServer } from '../../support/server/server.js'

let server: LiveServer
beforeAll(async () => {
  server = await liveServer()
})
afterAll(() => server.close())

// Expect a 100 response: it shows that the server has started to read the body.
const head = `POST ${paths.dispatch} HTTP/1.1\r\nHost: x\r\nContent-Type: ${MEDIA_TYPE}\r\nExpect: 100-continue\r\n`
const withLength = `${head}Content-Length: 900\r\n\r\n{"v":`
const inChunks = `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"v":`

const dispatches = (): unknown[] =>
  server.logs
    .map((line) => JSON.parse(line) as Partial<RequestLogEntry>)
    .filter(({ endpoint }) => endpoint === 'secure.dispatch')
    .map(({ status, code }) => [status, code])

async function counted(): Promise<number> {
  const { text } = await server.send({ method: 'GET', path: '/metrics' })
  const lines = text.split('\n').filter((it) => /^voucherctl_http_requests_total.*"secure.dispatch"/.test(it))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

it.each([
  ['whose client half-closes the connection', withLength, (it: RawConnection) => it.endSide(), 400],
  ['whose client half-closes within a chunk', inChunks, (it: RawConnection) => it.endSide(), 400],
  ['with a malformed chunk', inChunks, (it: RawConnection) => it.write('\r\nzz\r\n'), 400],
  ['whose client disconnects', withLength, (it: RawConnection) => it.destroy(), null],
])('dispatch request %s is logged and counted once', async (_, bytes, breakOff, status) => {
  const before = await counted()
  server.logs.length = 0
  const connection = await RawConnection.to(server.port)
  expect((await connection.write(bytes).response()).status).toBe(100)
  breakOff(connection)
  if (status !== null) expect((await connection.response()).status).toBe(status)
  await vi.waitFor(() => expect(dispatches()).toEqual([[400, 'SECURE_ENVELOPE_INVALID']]), 30_000)
  await connection.end()
  expect(dispatches()).toHaveLength(1)
  // The text of /metrics is computed at most once a second.
  await vi.waitFor(async () => expect(await counted()).toBe(before + 1), 30_000)
})
