import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { built, firstLine } from '../support/cli/built-cli.js'

const home = mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
const server = built.start(['server', 'start', '--memory', '--inspect', '--port', '0', '--json'], home)
let base = ''
let operatorKey = ''
beforeAll(async () => {
  const ready = JSON.parse(await firstLine(server)) as { base_url: string; operator_key_file: string }
  base = ready.base_url
  operatorKey = readFileSync(ready.operator_key_file, 'utf8').trim()
})
afterAll(async () => {
  const ended = new Promise((resolve) => server.once('exit', resolve))
  server.kill()
  await ended
  rmSync(home, { recursive: true, force: true })
})

/** Sends raw bytes; resolves when the server has closed the connection. */
async function send(bytes: Buffer): Promise<void> {
  const socket = connect(Number(new URL(base).port), '127.0.0.1')
  socket.on('error', () => {}).write(bytes)
  await buffer(socket).catch(() => {})
}

const record = async (signal?: AbortSignal) => {
  const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: '{}', ...(signal && { signal }) }
  return fetch(`${base}/_platform/v1/recordings`, init)
}

it('a server records and a client converts lines of any bytes in targets and headers', async () => {
  const { port } = new URL(base)
  const byte = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((it) => Buffer.from(it.filter((one) => one > 32)))
  const hostile = ['%ZZ', '%', '%2F', '%00', '%ff', '%ed%a0%80', '//', '?', '#', '?a=1&a=%', '..', 'x'.repeat(8_000)]
  const part = fc.oneof(byte, fc.constantFrom(...hostile).map(Buffer.from))
  const start = fc.constantFrom(
    '*',
    '/',
    '//',
    'http://x:y@h/',
    '/_platform/v1/bots/bot_x/webhook-leases/',
    '/api/v1/open-platform/vouchers/templates/',
    '/_platform/v1/find?text=',
  )
  const method = fc.constantFrom('GET', 'PUT', 'DELETE', 'POST', 'OPTIONS')
  const request = fc.tuple(method, start, fc.array(part, { maxLength: 3 }), byte)
  for (const [verb, from, parts, value] of fc.sample(request, { seed: 1, numRuns: 150 }))
    await send(
      Buffer.concat([
        Buffer.from(`${verb} ${from}`),
        ...parts,
        Buffer.from(
          ` HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: Bearer `,
        ),
        value,
        Buffer.from('\r\n\r\n'),
      ]),
    )
  await send(Buffer.from('PUT /_platform/v1/bots/b/webhook-leases/%ZZ HTTP/1.0\r\n\r\n'))
  const approve = `POST /_platform/v1/bots/%ZZ/approve HTTP/1.0\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${operatorKey}`
  await send(Buffer.from(`${approve}\r\n\r\n`))
  const response = await record()
  expect([response.status, ((await response.json()) as { success: boolean }).success]).toEqual([200, true])
  const env = { VOUCHERCTL_BASE_URL: base, VOUCHERCTL_OPERATOR_KEY: operatorKey }
  const args = ['scenario', 'record', '--from', 'activity', '--until', '1ms', '--out', 'a.yaml', '--json']
  const ran = await built.run(args, home, env)
  expect([ran.exit, ran.stderr]).toEqual([0, expect.not.stringContaining('UNEXPECTED')])
  expect(readFileSync(join(home, 'a.yaml'), 'utf8')).toContain('call: platform.approveBot')
})

it('calls get their responses while a server makes a recording of hostile lines', async () => {
  const { port } = new URL(base)
  const query = Array.from({ length: 1_800 }, (_, at) => `a${at.toString(36)}=${at}`).join('&')
  const request = `GET /x?${query} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`
  for (let n = 0; n < 60; n += 1) await send(Buffer.from(request))
  let isRecording = true
  const recording = record()
    .then((it) => it.json())
    .finally(() => {
      isRecording = false
    })
  const others = [record()]
  let responses = 0
  while (isRecording) {
    await fetch(`${base}/healthz`).then((it) => it.arrayBuffer())
    responses += 1
  }
  expect(await recording).toMatchObject({ success: true })
  // In one piece, the recording would leave time for one or two.
  expect(responses).toBeGreaterThan(5)
  for (const other of others) expect((await other).status).toBe(200)
})
