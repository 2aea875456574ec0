import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { cli, secrets, stub, success } from '../support/cli/cli.js'
import { leafCalls, pageOf, template } from '../support/cli/samples.js'

/** A text with SGR, OSC and CSI sequences in 7 and 8 bits, BEL, CR, LF, bidirectional controls and U+2028. */
const attack =
  'x\u001b[31m\u001b]0;title\u0007\u009b2J\u009d8;;http://h\u009c\u0007\u0008\r\nerror: forged\u061c\u200f\u202e\u2066\u2028y'

const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/

/** Response members per command that must match the request, so they cannot hold the attack. */
const checkedMembers: Readonly<Record<string, readonly string[]>> = {
  'vouchers issue': ['externalIssueId'],
  'vouchers redeem': ['status'],
  'vouchers reverse': ['id', 'status'],
  'bots apply': ['username'],
  'bots regenerate-token': ['bot_id'],
}

/** Copies response data and adds the attack to every string and as a member name. */
function poisoned(data: unknown, kept: readonly string[] = [], name = ''): unknown {
  // An unknown `type` or `kind` would change how the command prints the data.
  if (typeof data === 'string') return ['type', 'kind', ...kept].includes(name) ? data : `${data}${attack}`
  if (Array.isArray(data)) return data.map((it) => poisoned(it, kept))
  if (typeof data !== 'object' || data === null) return data
  const members = Object.entries(data).map(([key, value]) => [key, poisoned(value, kept, key)] as const)
  return { ...Object.fromEntries(members), [`odd${attack}`]: attack }
}

const terminal = { env: { ...secrets, NO_COLOR: '1' }, terminal: true, columns: 100 }

function expectHarmless(text: string) {
  expect(text).not.toMatch(CONTROLS)
  expect(text).not.toMatch(/^error: forged/m)
}

test.each(Object.entries(leafCalls))(
  'the command %s prints texts of a response without terminal controls or forged lines',
  async (path, { args, data }) => {
    const { baseUrl } = await stub(() => success(poisoned(data, checkedMembers[path])))
    for (const format of ['', '--output csv', '--fields id,odd', '--debug']) {
      const ran = await cli(`${path} ${args} ${format} --base-url ${baseUrl}`, terminal)
      // A command whose fields are all known refuses the field "odd" with exit 2.
      expect(format === '--fields id,odd' ? [0, 2] : [0]).toContain(ran.exit)
      expectHarmless(format === '--output csv' ? ran.stdout.replace(/"[^"]*"/g, '') : ran.stdout)
      expectHarmless(ran.stderr)
    }
  },
)

test.each(Object.entries(leafCalls))(
  'the command %s prints texts of an error response without terminal controls or forged lines',
  async (path, { args }) => {
    const body = { success: false, code: attack, message: attack, requestId: attack, retryable: false }
    const details = { [attack]: attack, errors: [{ pointer: attack, message: attack, suggestion: attack }, attack] }
    const { baseUrl } = await stub(() => ({ status: 409, body: { ...body, details } }))
    const ran = await cli(`${path} ${args} --base-url ${baseUrl}`, terminal)
    expect([ran.exit, ran.stdout]).toEqual([6, ''])
    expectHarmless(ran.stderr)
  },
)

test('vouchers issue --qr prints the caption of the QR code without terminal controls', async () => {
  const { args, data } = leafCalls['vouchers issue'] ?? expect.unreachable()
  const { baseUrl } = await stub(() => success(poisoned(data, checkedMembers['vouchers issue'])))
  const ran = await cli(`vouchers issue ${args} --qr --base-url ${baseUrl}`, terminal)
  expect(ran.stdout).toContain('█')
  expectHarmless(ran.stdout)
})

test('a list command prints the page numbers of a response without terminal controls', async () => {
  const pagination = { page: attack, limit: 1, total: attack, pages: 3 }
  const { baseUrl } = await stub(() => success({ items: [template], pagination }))
  const ran = await cli(`templates list --base-url ${baseUrl}`, terminal)
  expect(ran.stdout).toContain('of 3')
  expectHarmless(ran.stdout)
})

test('whoami prints the error code of a response without terminal controls', async () => {
  const { baseUrl } = await stub(() => ({ status: 401, body: { success: false, code: attack, message: 'm' } }))
  const ran = await cli(`whoami --base-url ${baseUrl}`, terminal)
  expectHarmless(ran.stdout + ran.stderr)
})

test.each(['json', 'jsonl', 'yaml'])(
  'templates list -o %s escapes control characters, and parsing restores them',
  async (format) => {
    const { baseUrl } = await stub(() => success(pageOf({ id: attack, [attack]: 1 })))
    const ran = await cli(`templates list -o ${format} --base-url ${baseUrl}`, terminal)
    expect(ran.stdout).not.toMatch(CONTROLS)
    const read = format === 'yaml' ? parseYaml(ran.stdout).items[0] : JSON.parse(ran.stdout)
    expect(format === 'json' ? read.items[0] : read).toEqual({ id: attack, [attack]: 1 })
  },
)

test('csv output has control characters in a pipe, not on a terminal', { tags: 'results/1' }, async () => {
  const { baseUrl } = await stub(() =>
    success(pageOf({ a: 'x\ry', b: 'x\r\ny', c: '\u001b[31m', d: '=1+1', e: '-1', f: '\t@' })),
  )
  const args = `templates list -o csv --base-url ${baseUrl}`
  expect((await cli(args, { env: secrets })).stdout).toBe('a,b,c,d,e,f\n"x\ry","x\r\ny",\u001b[31m,=1+1,-1,\t@\n')
  expect((await cli(args, terminal)).stdout).toBe('a,b,c,d,e,f\nxy,"x\ny",,=1+1,-1,\t@\n')
})
