import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { cli, redeemCode, secrets, stub, success } from '../support/cli/cli.js'
import { leafCalls, pageOf, template } from '../support/cli/samples.js'
import { listen } from '../support/listen.js'

const read = 'templates list'
const write = `vouchers redeem --code ${redeemCode}`
const given = { env: { ...secrets, NO_COLOR: '1' } }
const good = JSON.stringify({ success: true, data: pageOf(template), requestId: 'req_1' })

/** Starts a server that sends `bytes` to every client and then repeats `more` until the client disconnects. */
async function serverSending(
  bytes: string | Buffer,
  more?: string,
): Promise<{ baseUrl: string; connections: () => number }> {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(bytes)
      if (more === undefined) return void socket.end()
      const writeMore = () => {
        if (!socket.destroyed && socket.write(more)) setImmediate(writeMore)
      }
      socket.on('drain', writeMore)
      writeMore()
    })
  })
  return { baseUrl: `http://127.0.0.1:${await listen(server)}`, connections: () => connections }
}

const head = (status: string, ...lines: string[]) =>
  `HTTP/1.1 ${status}\r\n${lines.map((it) => `${it}\r\n`).join('')}\r\n`
const json = 'Content-Type: application/json'
const bomb = gzipSync(Buffer.alloc(30_000_000, ' '))
const deep = `{"success":true,"data":${'['.repeat(50_000)}${']'.repeat(50_000)}}`

const hostile: Record<string, [bytes: string | Buffer, more?: string]> = {
  'headers without end': [`HTTP/1.1 200 OK\r\n`, `X-${'a'.repeat(1000)}: ${'b'.repeat(1000)}\r\n`],
  'one header without end': [`HTTP/1.1 200 OK\r\nX-A: `, 'b'.repeat(4096)],
  'interim responses without end': ['', head('103 Early Hints', 'Link: </a>')],
  'a body without end': [head('200 OK', json, 'Content-Length: 1000000000000000'), ' '.repeat(65_536)],
  'chunks without end': [head('200 OK', json, 'Transfer-Encoding: chunked'), `1000\r\n${' '.repeat(4096)}\r\n`],
  'chunk extensions without end': [head('200 OK', 'Transfer-Encoding: chunked') + '1;', 'a'.repeat(4096)],
  'two Content-Length headers': [head('200 OK', json, 'Content-Length: 2', `Content-Length: ${good.length}`) + good],
  'both a length and chunks': [head('200 OK', json, 'Transfer-Encoding: chunked', 'Content-Length: 5') + '0\r\n\r\n'],
  'a negative length': [head('200 OK', json, 'Content-Length: -1') + good],
  'a status of two digits': [head('99 Odd', json, `Content-Length: ${good.length}`) + good],
  'a status line without a status': ['HTTP/1.1\r\n\r\n'],
  'the version HTTP/9.9': ['HTTP/9.9 200 OK\r\n\r\n'],
  'a null byte in a header': [head('200 OK', 'X-A: \0', `Content-Length: ${good.length}`) + good],
  'no bytes at all': [''],
  'a complete empty response': [head('200 OK', 'Content-Length: 0')],
  'no content': [head('204 No Content')],
  'a partial content response': [head('206 Partial Content', 'Content-Length: 5') + '{"suc'],
  'gzip without Accept-Encoding': [
    Buffer.concat([
      Buffer.from(head('200 OK', json, 'Content-Encoding: gzip', `Content-Length: ${bomb.length}`)),
      bomb,
    ]),
  ],
  'bytes that are not UTF-8': [
    Buffer.concat([Buffer.from(head('200 OK', json, 'Content-Length: 3')), Buffer.from([0x7b, 0xff, 0x7d])]),
  ],
  'an HTML page of a proxy': [head('200 OK', 'Content-Type: text/html', 'Content-Length: 15') + '<html>ok</html>'],
  'a switch of protocols': [head('101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: h2c')],
  'a Retry-After of a century': [head('503 Busy', json, 'Retry-After: 3153600000', 'Content-Length: 2') + '{}'],
}

test.each(Object.entries(hostile))(
  'a command exits 9 within its time limit if the server sends: %s',
  { tags: 'success/2' },
  async (_what, [bytes, more]) => {
    for (const command of [read, write]) {
      const { baseUrl } = await serverSending(bytes, more)
      const ran = await cli(`${command} --json --retries 0 --timeout 300ms --base-url ${baseUrl}`, given)
      expect([ran.exit, ran.stdout], ran.stderr).toEqual([9, ''])
      const { error } = JSON.parse(ran.stderr)
      expect(ran.stderr).not.toContain('CANARY')
      // The user needs the idempotency key to retry, except after a 503, which means "not processed".
      if (command === write && error.status !== 503) expect(error.details.idempotency_key).toBe('key-1')
    }
  },
)

test('a command prints or refuses a response nested 50,000 levels deep in any output format', async () => {
  const { baseUrl } = await serverSending(head('200 OK', json, `Content-Length: ${deep.length}`) + deep)
  for (const format of ['', '--json', '-o yaml', '-o csv', '-o jsonl', '--fields id', '--jq length']) {
    const ran = await cli(`${read} ${format} --retries 0 --base-url ${baseUrl}`, given)
    expect([0, 2, 9], `${format}: ${ran.stderr.slice(0, 500)}`).toContain(ran.exit)
    expect(ran.stderr).not.toMatch(/^ +at /m)
  }
})

test.each([301, 302, 303, 307, 308])(
  'a command exits 9 for a redirect with status %i and does not follow it',
  async (status) => {
    const target = await stub(() => success(pageOf(template)))
    const elsewhere = { location: `${target.baseUrl}/api/v1/open-platform/vouchers/templates` }
    const { baseUrl, received } = await stub(() => ({ status, headers: elsewhere, body: {} }))
    for (const command of [read, write]) {
      const ran = await cli(`${command} --base-url ${baseUrl}`, given)
      expect([ran.exit, ran.stdout]).toEqual([9, ''])
      expect(ran.stderr).toContain('redirects are not followed')
    }
    expect([received.length, target.received.length]).toEqual([2, 0])
  },
)

test('a command does not retry if Retry-After is longer than --timeout', async () => {
  const body = JSON.stringify({ success: false, code: 'RATE_LIMITED', message: 'Slow down.' })
  const { baseUrl, connections } = await serverSending(
    head('429 Slow', json, 'Retry-After: 86400', `Content-Length: ${body.length}`) + body,
  )
  expect((await cli(`${read} --timeout 1h --base-url ${baseUrl}`, given)).exit).toBe(7)
  // One connection proves that the command has not retried.
  expect(connections()).toBe(1)
})

const wrongTypes: readonly unknown[] = [
  null,
  true,
  5,
  -0.5,
  1e300,
  '',
  'x',
  [],
  [null],
  [[[]]],
  {},
  { items: null },
  { items: {} },
  { items: 'x' },
  { items: [null, 5, 'x', []], pagination: 5 },
  { items: [{}], pagination: { page: 'x', limit: null, total: [], pages: {} } },
  { id: 5, status: {}, credentials: {}, voucher: 5, token: [], validity: 'x', data: null },
  { id: null, credentials: [null, 5, {}], features: 'x', linkedBots: [5], scopes: {}, metadata: [] },
  { toString: 1, constructor: null, hasOwnProperty: 'x', then: 5, length: -1 },
]

const dataOfWrongType = 'the command %s prints or refuses data of a wrong type without an unexpected exception'

async function expectNoBug(path: string, args: string, format: string, data: readonly unknown[]): Promise<void> {
  const { baseUrl } = await stub((_request, index) => success(data[index]))
  for (const it of data) {
    const ran = await cli(`${path} ${args} ${format} --retries 0 --base-url ${baseUrl}`, given)
    const said = `${JSON.stringify(it)} ${format}: ${ran.exit} ${ran.stdout} ${ran.stderr}`
    expect([0, 9], said).toContain(ran.exit)
    expect(ran.stderr, said).not.toMatch(/TypeError|RangeError|^ +at /m)
    if (format === '--json' && ran.exit === 0 && ran.stdout !== '')
      expect(() => JSON.parse(ran.stdout), said).not.toThrow()
  }
}

// Every command formats its table with its own code, so all commands run.
test.each(Object.entries(leafCalls))(dataOfWrongType, async (path, { args }) => {
  await expectNoBug(path, args, '', wrongTypes)
})

// All commands share the code that prints JSON, so a list, a single object and a mutation suffice.
test.each(['templates list', 'apps get', 'vouchers redeem'])(`${dataOfWrongType} (--json)`, async (path) => {
  await expectNoBug(path, leafCalls[path]?.args ?? '', '--json', wrongTypes)
})
