import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { plain, widthOf } from '../../../src/cli/output/text.js'
import { InboxWriter } from '../../../src/workbench/inbox-writer.js'
import { cli, type Given, redeemCode, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'
import { app, pageOf, template, verification } from '../../support/cli/samples.js'

const second = { ...template, id: 'tpl_02', name: 'Tea, "black"', status: 'active' }

/** Runs a command against a server with this response. */
async function against(args: string, data: unknown, given: Given = {}) {
  const { baseUrl } = await stub(() => success(data))
  return cli(`${args} --base-url ${baseUrl}`, { ...given, env: { ...secrets, ...given.env } })
}

const list = (args: string, given?: Given, data: unknown = pageOf(template, second)) =>
  against(`templates list ${args}`, data, given)

test('json, jsonl, yaml and csv output contain the same records', { tags: ['results/1', 'results/3'] }, async () => {
  expect(JSON.parse((await list('-o json')).stdout)).toEqual(pageOf(template, second))
  const lines = (await list('-o jsonl')).stdout.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual([template, second])
  expect(parseYaml((await list('-o yaml')).stdout)).toEqual(pageOf(template, second))
  const [head, first, tea] = (await list('-o csv --fields id,name,validity.durationDays')).stdout.split('\n')
  expect([head, first, tea]).toEqual([
    'id,name,validity.durationDays',
    'tpl_01,One free coffee,30',
    'tpl_02,"Tea, ""black""",30',
  ])
})

test('csv output flattens nested members and writes lists as JSON', { tags: 'results/3' }, async () => {
  const { stdout } = await against('apps get app_01 -o csv', { ...app, description: 'a\nb' })
  expect(stdout.split('\n')[0]).toContain('features,allowedOrigins')
  expect(stdout).toContain('"[""vouchers""]"')
  expect(stdout).toContain('"a\nb"')
})

test('a list command without results prints a notice as table and nothing as jsonl', async () => {
  expect((await list('', {}, pageOf())).stdout).toMatch(/^No templates on http:\/\/127\.0\.0\.1:\d+ yet\.\n$/)
  expect(JSON.parse((await list('--json', {}, pageOf())).stdout).items).toEqual([])
  expect((await list('-o jsonl', {}, pageOf())).stdout).toBe('')
})

test('--fields selects members in the given order', async () => {
  const ran = await list('--json --fields status,id')
  expect(JSON.parse(ran.stdout).items[0]).toEqual({ status: 'draft', id: 'tpl_01' })
  expect(Object.keys(JSON.parse(ran.stdout).items[0])).toEqual(['status', 'id'])
  expect((await list('--fields name')).stdout).toBe('NAME\nOne free coffee\nTea, "black"\n')
})

test('--fields prints nested members and null members in a table', async () => {
  expect((await list('--fields id,validity.durationDays')).stdout).toMatch(/^tpl_01 +30$/m)
  const data = { ...app, description: null, owner: { name: 'Ada' } }
  const ran = await against('apps get app_01 --fields owner.name,description', data)
  expect(ran.stdout).toBe('owner name   Ada\ndescription  -\n')
})

test('a table shortens ids before names to fit the terminal, unless --wide', { tags: 'tables/2' }, async () => {
  const id = 'tpl_01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const long = { ...template, id, name: 'A name that is long enough to be too long for any table' }
  const given = { terminal: true, columns: 80, env: { NO_COLOR: '1' } }
  const { stdout, stderr } = await list('', given, pageOf(long))
  const rows = stdout.trimEnd().split('\n')
  for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(80)
  expect(rows[1]).toMatch(/^tpl_…69G5FAV {2}A name that is long enough to …/)
  expect(stderr).toBe('Ids are shortened; --wide or -o json prints them whole.\n')
  const wide = await list('--wide', given, pageOf(long))
  expect(wide).toMatchObject({ stderr: '', stdout: expect.stringContaining(`${id}  ${long.name}  draft`) })
  const fitting = await list('', given, pageOf({ ...long, name: 'Short' }))
  expect(fitting).toMatchObject({ stderr: '', stdout: expect.stringContaining(`${id}  Short  draft`) })
})

test('a list prints one line per member instead of a table if the terminal is too narrow for ids', async () => {
  const id = 'tpl_01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const data = pageOf({ ...template, id }, { ...second, id: `${id}2` })
  const given = { terminal: true, columns: 40, env: { NO_COLOR: '1' } }
  const { stdout } = await list('', given, data)
  expect(stdout).toMatch(new RegExp(`^id\n  ${id}\nname +One free coffee\n`))
  expect(stdout).toMatch(new RegExp(`\n\nid\n  ${id}2\nname +Tea, "black"\n`))
  expect(stdout).not.toContain('ISSUE LIMIT')
  expect((await list('--all', given, data)).stdout).toBe(stdout)
})

test('webhook inbox list keeps whole times on a narrow terminal', async () => {
  const home = temporaryDir()
  const writer = new InboxWriter(join(home, 'inbox'))
  const refused = { verdict: 'refused', reason: 'bad_signature', update_id: null, type: null } as const
  const request = { method: 'POST', url: '/', headers: [], body: Buffer.from('x') }
  await writer.recordDelivery({ at: Date.parse('2026-11-21T13:56:55Z'), ...refused, ...request })
  await writer.close()
  const inbox = (columns: number) =>
    cli('webhook inbox list --inbox inbox --verdict all', { home, terminal: true, columns, env: { NO_COLOR: '1' } })
  for (const columns of [80, 64]) {
    const { stdout } = await inbox(columns)
    expect(stdout).toContain('2026-11-21 13:56:55Z')
    expect(Math.max(...stdout.split('\n').map(widthOf))).toBeLessThanOrEqual(columns)
  }
})

test('list shows relative times if the terminal has room', async () => {
  const id = 'app_01ARZ3NDEKTSV4RRFFQ69G5FAV'
  const data = pageOf({ ...app, id, createdAt: '2026-11-21T13:55:43.000Z' })
  const run = (columns: number, at: string) =>
    against('apps list', data, { terminal: true, columns, env: { NO_COLOR: '1' }, now: Date.parse(at) })
  expect((await run(80, '2026-11-21T13:56:43Z')).stdout).toMatch(/ 2026-11-21 13:55:43Z \(1m ago\)\n/)
  expect((await run(80, '2026-11-20T13:55:40Z')).stdout).toMatch(/ 2026-11-21 13:55:43Z \(in 1d\)\n/)
  expect((await run(60, '2026-11-21T13:56:43Z')).stdout).toMatch(/ 2026-11-21 13:55:43Z\n/)
})

test('a table in a pipe is not shortened, and --json prints the same text with a terminal or not', async () => {
  const long = pageOf({ ...template, name: 'n'.repeat(200) })
  expect((await list('', {}, long)).stdout).toContain('n'.repeat(200))
  const piped = await list('--json')
  const shown = await list('--json', { terminal: true, columns: 40 })
  expect(shown.stdout).toBe(piped.stdout)
})

test.each([
  [{ terminal: true }, '', true],
  [{}, '', false],
  [{ terminal: true }, '--no-color', false],
  [{ terminal: true, env: { NO_COLOR: '1' } }, '', false],
  [{ terminal: true, env: { TERM: 'dumb' } }, '', false],
  [{ env: { FORCE_COLOR: '1' } }, '', true],
  [{ terminal: true, env: { FORCE_COLOR: '0' } }, '', false],
  [{ env: { FORCE_COLOR: '1', NO_COLOR: '1' } }, '', false],
])('templates list run with %j and the flags "%s" prints colours: %s', async (given, args, coloured) => {
  expect((await list(args, given)).stdout.includes('\u001b[')).toBe(coloured)
})

test.each(['json', 'jsonl', 'yaml', 'csv'])(
  'the output format %s contains no colours, even with FORCE_COLOR',
  async (format) => {
    expect((await list(`-o ${format}`, { env: { FORCE_COLOR: '1' } })).stdout).not.toContain('\u001b')
  },
)

const hostile = 'a\u001b[31mred\u001b]0;title\u0007\u009b2Jb\u202ec\r\u0000d\u001bP1;2|x\u001b\\e\u001bc'

test('a command removes or escapes terminal controls of a response in every output format', async () => {
  expect(plain(hostile)).toBe('aredbcde')
  const data = pageOf({ ...template, name: hostile })
  for (const format of ['table', 'yaml', 'json', 'jsonl']) {
    const { stdout } = await list(`-o ${format}`, {}, data)
    expect(stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  }
  expect(JSON.parse((await list('--json', {}, data)).stdout).items[0].name).toBe(hostile)
})

test('a command removes or escapes terminal controls of an error response', async () => {
  const body = {
    success: false,
    code: 'VALIDATION_FAILED',
    message: hostile,
    details: { [hostile]: hostile },
    requestId: hostile,
  }
  const { baseUrl } = await stub(() => ({ status: 400, body }))
  const { stderr } = await cli(`apps list --base-url ${baseUrl}`, { env: secrets })
  expect(stderr).not.toContain('\u001b')
  expect(stderr).not.toContain('\u009b')
  const machine = await cli(`apps list --json --base-url ${baseUrl}`, { env: secrets })
  expect(machine.stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
  expect(JSON.parse(machine.stderr).error.message).toBe(hostile)
})

test('apps create suggests the next command on stderr of a terminal, but not with --quiet', async () => {
  const run = (args: string, terminal: boolean) =>
    against(`apps create --name S ${args}`, app, { env: { NO_COLOR: '1' }, terminal })
  const shown = await run('', true)
  expect(shown.stderr).toContain('Next: ')
  expect(shown.stdout).not.toContain('Next: ')
  expect((await run('-q', true)).stderr).not.toContain('Next: ')
  expect(await run('', false)).toMatchObject({ stderr: '', stdout: shown.stdout })
})

test('csv output of an empty list has a header line only with --fields', async () => {
  expect((await list('-o csv --fields id,name', {}, pageOf())).stdout).toBe('id,name\n')
  expect((await list('-o csv', {}, pageOf())).stdout).toBe('')
})

test('a list command prints the page number below its table if there are several pages', async () => {
  const data = { items: [template], pagination: { page: 1, limit: 1, total: 3, pages: 3 } }
  expect((await list('', {}, data)).stdout).toContain('Page 1 of 3 (3 in all). More: --page 2, or --all.')
})

test('empty list names its filter and the number of items without it', async () => {
  const { baseUrl, received } = await stub(({ path }) =>
    success(
      path.includes('status') ? pageOf() : { items: [template], pagination: { page: 1, limit: 1, total: 3, pages: 3 } },
    ),
  )
  const run = (args: string) => cli(`templates list --status active ${args} --base-url ${baseUrl}`, { env: secrets })
  const text = `No templates on ${baseUrl} match --status active. Without the filter there are 3.\n`
  expect([(await run('')).stdout, (await run('--all')).stdout]).toEqual([text, text])
  expect(received).toHaveLength(4)
  expect([(await run('--json')).exit, (await run('-q')).stdout, received.length]).toEqual([0, '', 6])
})

test('list command reports a page beyond the last one', async () => {
  const data = { items: [], pagination: { page: 9, limit: 20, total: 30, pages: 2 } }
  expect((await list('--page 9', {}, data)).stdout).toBe('Page 9 is beyond the last: there are 2 pages (30 in all).\n')
})

test('--quiet prints the ids of a list or record alone, and a one-time secret with its record', async () => {
  expect((await list('-q')).stdout).toBe('tpl_01\ntpl_02\n')
  expect((await list('-q --all')).stdout).toBe('tpl_01\ntpl_02\n')
  expect((await list('-q --fields name')).stdout).toContain('NAME')
  expect((await against('apps get app_01 -q', app)).stdout).toBe(`${app.id}\n`)
  const token = { id: 'tok_01', name: 'till', token: 'sop_secret' }
  const created = await against('tokens create -q --app app_01 --scope vouchers:read', token)
  expect(created.stdout).toContain('sop_secret')
})

test('a table aligns columns of numbers to the right', async () => {
  const { stdout } = await list('--fields name,issueLimit', {}, pageOf(template, { ...second, issueLimit: 5_000 }))
  expect(stdout.split('\n').slice(1, 3)).toEqual(['One free coffee           10', 'Tea, "black"            5000'])
})

test('the headline of vouchers verify has a mark and a colour', async () => {
  const run = (data: unknown) => against(`vouchers verify ${redeemCode}`, data, { env: { FORCE_COLOR: '1' } })
  expect((await run(verification)).stdout).toMatch(/^\u001b\[32m✓ Redeemable\./)
  const refused = { ...verification, redeemable: false, reason: 'expired' }
  expect((await run(refused)).stdout).toMatch(/^\u001b\[31m\u001b\[1m✗ Not redeemable: it has expired\./)
})

test('pins of server keys and of a profile are whole on a terminal of 80 columns', async () => {
  const given = { terminal: true, columns: 80, env: { NO_COLOR: '1' } }
  const pins = ['a', 'b'].map((it) => `sha256:${it.repeat(42)}A`)
  const times = { created_at: '2026-11-21T10:00:00.000Z', activated_at: '2026-11-21T10:00:00.000Z', grace_until: null }
  const items = pins.map((pin, i) => ({ kid: pin.slice(7, 23), state: i === 0 ? 'current' : 'next', pin, ...times }))
  const home = homeWithProfiles({ default: { secure: { pins } } })
  const shown = [
    (await against('server keys list', { items }, given)).stdout,
    (await cli('profiles show', { ...given, home })).stdout,
    (await cli('profiles show --explain', { ...given, home })).stdout,
  ]
  for (const text of shown) {
    const lines = text.split('\n')
    for (const pin of pins) expect(lines.filter((it) => it.includes(pin) && it.length <= 80)).toHaveLength(1)
  }
})
