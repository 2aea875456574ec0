import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cli, refusal, secrets, stub, success } from '../support/cli/cli.js'
import { rawServer } from '../support/listen.js'

const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/
const ESCAPE = '\u001b[31m\u009b2J\r'

const streaming = ['platform activity', 'platform activity --follow', 'server logs', 'server logs --follow']
const given = { env: { ...secrets, NO_COLOR: '1' }, terminal: true, columns: 100 }
const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n'

/** Runs a command against a server that responds to every request with these bytes. */
async function ran(command: string, bytes: string | Buffer) {
  const { baseUrl } = await rawServer((socket) => {
    socket.write(head)
    socket.end(bytes)
  })
  return cli(`${command} --retries 0 --timeout 20s --base-url ${baseUrl}`, given)
}

/** The error object, which a notice about the source may precede on a terminal. */
const errorOf = ({ stderr }: { stderr: string }) => JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '').error

function expectHarmless({ exit, stdout, stderr }: Awaited<ReturnType<typeof ran>>, isJson: boolean) {
  const said = JSON.stringify({ exit, stdout: stdout.slice(0, 2_000), stderr })
  expect([0, 4, 9], said).toContain(exit)
  expect(stdout + stderr, said).not.toMatch(CONTROLS)
  expect(stdout, said).not.toMatch(/\bundefined\b|\[object Object\]/)
  expect(stderr, said).not.toMatch(/UNEXPECTED|TypeError|RangeError|^ +at /m)
  if (isJson) for (const line of stdout.split('\n').slice(0, -1)) expect(() => JSON.parse(line), said).not.toThrow()
}

const entry = { time: ESCAPE, method: ESCAPE, path: ESCAPE, status: ESCAPE, duration_ms: ESCAPE, code: ESCAPE }
const request = { seq: 1, kind: 'request', request: entry, exchange: null }

/** Documents whose members are missing, of another type, or of a newer server. */
const odd: readonly object[] = [
  {},
  { kind: 'zz', note: ESCAPE },
  { kind: null },
  { kind: 'omitted', count: ESCAPE },
  { kind: 'omitted' },
  { kind: 'omitted', count: {} },
  { kind: 'omitted', count: { toString: 1 } },
  { kind: 'state', state: null },
  { kind: 'state', what: 'constructor', at: 5 },
  { kind: 'state', what: ESCAPE, at: ESCAPE },
  { kind: 'request' },
  { kind: 'request', request: null },
  { kind: 'request', request: {}, exchange: 5 },
  request,
  { ...request, exchange: { request: { body: { length: 2e9 } }, response: 5 } },
  { ...request, exchange: { request: { body: Buffer.from(ESCAPE).toString('base64') } } },
  { kind: 'delivery' },
  { kind: 'delivery', delivery: { at: {}, status: {}, duration_ms: 'x', error: { code: ESCAPE } } },
  { kind: 'delivery', delivery: { duration_ms: 1, error: null, update_type: ESCAPE, status: ESCAPE } },
  entry,
  { method: { toString: 1 }, status: { valueOf: 5 } },
  { time: ESCAPE, level: { valueOf: 1 }, msg: ESCAPE, err: { message: { toString: 1 } } },
  JSON.parse('{"__proto__":{"kind":"omitted"},"method":"\\ud800","path":"\\udc00"}'),
  { kind: 'omitted', count: '\ud800\u0000\u2028' },
  { kind: '\u202e', constructor: null, hasOwnProperty: 1 },
]

test.each(streaming)(
  '%s prints documents of any shape without an exception or a control character',
  async (command) => {
    const body = odd.map((it) => `${JSON.stringify(it)}\n`).join('')
    for (const format of ['', '--json', '--fields kind,time']) {
      const result = await ran(`${command} ${format}`, body)
      if (format !== '--fields kind,time') {
        expect(result.exit, result.stderr).toBe(0)
        expect(result.stdout.trimEnd().split('\n').length).toBeGreaterThanOrEqual(odd.length)
        expectHarmless(result, format !== '')
      }
    }
  },
)

test.each(streaming)('%s exits 9 for a line that is not a document', async (command) => {
  const noDocuments = ['null', '[]', '5', '"x"', 'oops\u001b[31m', '\u0000', '{"a":1}\u0000', `${'['.repeat(60_000)}`]
  for (const line of [
    ...noDocuments,
    '{"success":true,"data":{}}',
    `{"a":${'{"a":'.repeat(9_000)}1${'}'.repeat(9_001)}`,
  ]) {
    const result = await ran(`${command} --json`, `${line}\n`)
    expect([result.exit, result.stdout], line.slice(0, 40)).toEqual([9, ''])
    expect(errorOf(result).code).toBe('INVALID_RESPONSE')
    expectHarmless(await ran(command, `${line}\n`), false)
  }
})

test.each(streaming)('%s exits 9 for a line of 50 MB without an end', async (command) => {
  const { baseUrl } = await rawServer((socket) => {
    socket.write(head)
    socket.end(Buffer.alloc(50_000_000, 'a'))
  })
  const result = await cli(`${command} --json --base-url ${baseUrl}`, given)
  expect([result.exit, result.stdout]).toEqual([9, ''])
  expect(errorOf(result).message).toMatch(/line .* is longer/)
})

test.each(streaming)('%s exits with the code of a failure envelope in place of a document', async (command) => {
  for (const [code, exit] of [
    ['TOKEN_INVALID', 4],
    ['SERVICE_UNAVAILABLE', 9],
    ['RATE_LIMITED', 7],
    [`ZZ${ESCAPE}`, 9],
  ] as const) {
    const body = JSON.stringify({ success: false, code, message: `No. ${ESCAPE}`, requestId: 'req_1' })
    const result = await ran(command, body)
    expect([result.exit, result.stdout], result.stderr).toEqual([exit, ''])
    expect(result.stderr).toContain('No. ')
    expect(result.stderr).not.toMatch(CONTROLS)
  }
})

const kinds = fc.constantFrom('request', 'delivery', 'state', 'omitted', 'zz')
const member = fc.constantFrom(
  'kind',
  'request',
  'delivery',
  'exchange',
  'method',
  'status',
  'time',
  'at',
  'error',
  'msg',
)
const anyLine = fc.oneof(
  fc.jsonValue({ stringUnit: 'binary' }),
  fc.dictionary(member, fc.jsonValue({ stringUnit: 'binary' })),
  fc.tuple(kinds, fc.dictionary(member, fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }))).map(([kind, more]) => ({
    kind,
    ...{ request: more, delivery: more, exchange: { request: more, response: more } },
    ...more,
  })),
)

test.each(streaming)('%s prints or refuses random JSON values as lines', async (command) => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyLine, { minLength: 1, maxLength: 5 }), fc.boolean(), async (values, isJson) => {
      const body = values.map((it) => `${JSON.stringify(it)}\n`).join('')
      expectHarmless(await ran(`${command} ${isJson ? '--json' : ''}`, body), isJson)
    }),
    { numRuns: 25, seed: 34 },
  )
})

const hook = 'whsec_0123456789abcdef0123456789abcdef'

test.each(['bots updates --follow', 'webhook listen --bot b --max-attempts 1 --dead-letter dead.ndjson'])(
  '%s prints or refuses updates with random JSON values',
  async (command) => {
    const update = fc.tuple(
      fc.constantFrom('type', 'message', 'created_at', 'ping', 'update_id'),
      fc.jsonValue({ stringUnit: 'binary' }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(update, { minLength: 1, maxLength: 5 }), fc.boolean(), async (members, isJson) => {
        let polls = 0
        const items = members.map(([name, value], i) => ({ update_id: i + 1, type: ESCAPE, [name]: value }))
        const { baseUrl } = await stub(({ path }) => {
          if (path === '/api/v1/bots/getWebhookInfo') return success({})
          polls += 1
          // The first poll of a listener only asks whether the bot may poll.
          return polls <= (command.startsWith('webhook') ? 2 : 1) ? success({ items }) : refusal(401, 'TOKEN_INVALID')
        })
        const env = { ...given.env, VOUCHERCTL_WEBHOOK_SECRET: hook }
        const format = isJson ? '--json' : ''
        expectHarmless(await cli(`${command} ${format} --retries 0 --base-url ${baseUrl}`, { ...given, env }), isJson)
      }),
      { numRuns: 20, seed: 34 },
    )
  },
)
