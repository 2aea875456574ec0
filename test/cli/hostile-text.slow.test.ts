import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { cli, secrets, stub, success } from '../support/cli.js'
import { leafCalls, pageOf, template } from '../support/cli-samples.js'

/** SGR, OSC and CSI in 7 and 8 bits, BEL, CR, LF, bidirectional controls and Unicode line separators. */
const attack =
  'x\u001b[31m\u001b]0;title\u0007\u009b2J\u009d8;;http://h\u009c\u0007\u0008\r\nerror: forged\u061c\u200f\u202e\u2066\u2028y'

const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/** Members per command that must match the call, or else the response is rejected. */
const fitting: Readonly<Record<string, readonly string[]>> = {
  'vouchers issue': ['externalIssueId'],
  'vouchers redeem': ['status'],
  'vouchers reverse': ['id', 'status'],
  'bots apply': ['username'],
  'bots regenerate-token': ['bot_id'],
}

/** The same data with the attack in every string and in a member name. */
function poisoned(data: unknown, kept: readonly string[] = [], name = ''): unknown {
  // Members that select a view must stay valid.
  if (typeof data === 'string') return ['type', 'kind', ...kept].includes(name) ? data : `${data}${attack}`
  if (Array.isArray(data)) return data.map((it) => poisoned(it, kept))
  if (typeof data !== 'object' || data === null) return data
  const members = Object.entries(data).map(([key, value]) => [key, poisoned(value, kept, key)] as const)
  return { ...Object.fromEntries(members), [`odd${attack}`]: attack }
}

const people = { env: { ...secrets, NO_COLOR: '1' }, terminal: true, columns: 100 }

function expectHarmless(text: string) {
  expect(text).not.toMatch(CONTROLS)
  expect(text).not.toMatch(/^error: forged/m)
}

test.each(Object.entries(leafCalls))(
  '%s prints response texts without terminal controls or forged lines',
  async (path, { args, data }) => {
    const { baseUrl } = await stub(() => success(poisoned(data, fitting[path])))
    for (const format of ['', '--output csv', '--fields id,odd', '--debug']) {
      const ran = await cli(`${path} ${args} ${format} --base-url ${baseUrl}`, people)
      // Commands with known fields refuse "odd" with exit 2.
      expect(format === '--fields id,odd' ? [0, 2] : [0]).toContain(ran.exit)
      expectHarmless(format === '--output csv' ? ran.stdout.replace(/"[^"]*"/g, '') : ran.stdout)
      expectHarmless(ran.stderr)
    }
  },
)

test.each(Object.entries(leafCalls))(
  '%s prints error responses without terminal controls or forged lines',
  async (path, { args }) => {
    const body = { success: false, code: attack, message: attack, requestId: attack, retryable: false }
    const details = { [attack]: attack, errors: [{ pointer: attack, message: attack, suggestion: attack }, attack] }
    const { baseUrl } = await stub(() => ({ status: 409, body: { ...body, details } }))
    const ran = await cli(`${path} ${args} --base-url ${baseUrl}`, people)
    expect([ran.exit, ran.stdout]).toEqual([6, ''])
    expectHarmless(ran.stderr)
  },
)

test('vouchers issue --qr draws the QR code with a caption without terminal controls', async () => {
  const { args, data } = leafCalls['vouchers issue'] ?? expect.unreachable()
  const { baseUrl } = await stub(() => success(poisoned(data, fitting['vouchers issue'])))
  const ran = await cli(`vouchers issue ${args} --qr --base-url ${baseUrl}`, people)
  expect(ran.stdout).toContain('█')
  expectHarmless(ran.stdout)
})

test('the footer of a paged list contains no terminal controls', async () => {
  const pagination = { page: attack, limit: 1, total: attack, pages: 3 }
  const { baseUrl } = await stub(() => success({ items: [template], pagination }))
  const ran = await cli(`templates list --base-url ${baseUrl}`, people)
  expect(ran.stdout).toContain('of 3')
  expectHarmless(ran.stdout)
})

test('whoami prints the code of a refusal without terminal controls', async () => {
  const { baseUrl } = await stub(() => ({ status: 401, body: { success: false, code: attack, message: 'm' } }))
  const ran = await cli(`whoami --base-url ${baseUrl}`, people)
  expectHarmless(ran.stdout + ran.stderr)
})

test.each(['json', 'jsonl', 'yaml'])('%s output escapes control characters without loss', async (format) => {
  const { baseUrl } = await stub(() => success(pageOf({ id: attack, [attack]: 1 })))
  const ran = await cli(`templates list -o ${format} --base-url ${baseUrl}`, people)
  expect(ran.stdout).not.toMatch(CONTROLS)
  const read = format === 'yaml' ? parseYaml(ran.stdout).items[0] : JSON.parse(ran.stdout)
  expect(format === 'json' ? read.items[0] : read).toEqual({ id: attack, [attack]: 1 })
})

test('csv output is exact in a pipe and without control characters on a terminal', async () => {
  const { baseUrl } = await stub(() =>
    success(pageOf({ a: 'x\ry', b: 'x\r\ny', c: '\u001b[31m', d: '=1+1', e: '-1', f: '\t@' })),
  )
  const args = `templates list -o csv --base-url ${baseUrl}`
  expect((await cli(args, { env: secrets })).stdout).toBe('a,b,c,d,e,f\n"x\ry","x\r\ny",\u001b[31m,=1+1,-1,\t@\n')
  expect((await cli(args, people)).stdout).toBe('a,b,c,d,e,f\nxy,"x\ny",,=1+1,-1,\t@\n')
})
