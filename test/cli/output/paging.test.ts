import { readdirSync } from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { cli, type Given, refusal, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { pageOf, template } from '../../support/cli/samples.js'

const LIMIT = 100
const relative = template.validity
const fixed = { type: 'fixed', startsAt: template.createdAt, endsAt: template.createdAt }

/** Page `at` of a list of `total` templates; only the last template has a fixed validity. */
function pageResponse(total: number, at: number) {
  const pages = Math.ceil(total / LIMIT)
  const count = Math.min(LIMIT, total - (at - 1) * LIMIT)
  const items = Array.from({ length: count }, (_, i) => {
    const number = (at - 1) * LIMIT + i
    return { ...template, id: `tpl_${number}`, validity: number === total - 1 ? fixed : relative }
  })
  return success({ items, pagination: { page: at, limit: LIMIT, total, pages } })
}

const pageIn = (path: string) => Number(new URL(path, 'http://x').searchParams.get('page'))

async function list(args: string, total: number, failsAt = 0, given: Given = {}) {
  const { baseUrl, received } = await stub(({ path }) =>
    pageIn(path) === failsAt ? refusal(403, 'INSUFFICIENT_SCOPE') : pageResponse(total, pageIn(path)),
  )
  const argv = [
    ...`templates list --all --base-url ${baseUrl}`.split(' '),
    ...args.split(' ').filter((it) => it !== ''),
  ]
  return { ...(await cli(argv, { ...given, env: { ...secrets, ...given.env } })), received }
}

test.each(['json', 'yaml'])('templates list --all -o %s prints the whole list as one document', async (format) => {
  const ran = await list(`-o ${format}`, 250)
  expect([ran.exit, ran.stderr, ran.received.length]).toEqual([0, '', 3])
  const whole = format === 'json' ? JSON.parse(ran.stdout) : parseYaml(ran.stdout)
  expect(whole.items.map((it: { id: string }) => it.id)).toEqual(Array.from({ length: 250 }, (_, i) => `tpl_${i}`))
  expect(whole.pagination).toEqual({ page: 1, limit: 250, total: 250, pages: 1 })
})

test('--all prints a list of one page exactly as the command without --all does', async () => {
  const { baseUrl } = await stub(() => success(pageOf(template, template)))
  const run = (args: string) => cli(`templates list ${args} --base-url ${baseUrl}`, { env: secrets })
  for (const format of ['json', 'yaml', 'csv', 'jsonl', 'table', 'csv --fields id,validity', 'json --fields id']) {
    const [whole, page] = [await run(`--all -o ${format}`), await run(`-o ${format}`)]
    expect(whole.stdout).toBe(page.stdout.replace(/limit("?): 20/, 'limit$1: 2'))
  }
})

test('--all -o csv prints a column for a member that only the last page has', { tags: 'results/3' }, async () => {
  const lines = (await list('-o csv --fields id,validity', 101)).stdout.split('\n')
  expect(lines[0]).toBe(
    'id,validity.type,validity.durationDays,validity.delayDays,validity.notAfter,validity.startsAt,validity.endsAt',
  )
  expect(lines[101]).toBe(`tpl_100,fixed,,,,${template.createdAt},${template.createdAt}`)
  expect(lines).toHaveLength(103)
})

test('--all --jq filters the whole list as one document', async () => {
  expect((await list('--jq .items|length', 250)).stdout).toBe('250\n')
  const whole = JSON.parse((await list('--json --fields id', 123)).stdout)
  const filtered = await list('--jq . --fields id', 123)
  expect([filtered.exit, JSON.parse(filtered.stdout)]).toEqual([0, whole])
  expect((await list('--jq .items', 0)).stdout).toBe('[]\n')
})

test('--all -o jsonl --jq filters each item of the list separately', async () => {
  const ids = (await list('-o jsonl --fields id --jq .id', 101)).stdout.split('\n')
  expect([ids.length, ids[0], ids[100]]).toEqual([102, 'tpl_0', 'tpl_100'])
})

test.each(['json', 'yaml', 'csv', 'csv --fields id', 'json --jq .items[].id'])(
  'templates list --all -o %s prints nothing on stdout if a page fails',
  { tags: 'results/3' },
  async (format) => {
    const ran = await list(`-o ${format}`, 250, 3)
    expect([ran.exit, ran.stdout]).toEqual([4, ''])
    expect(ran.stderr).toContain('INSUFFICIENT_SCOPE')
  },
)

test.each([
  ['-o jsonl', 200],
  ['-o jsonl --jq .id', 200],
  ['', 201],
])('templates list --all %s prints %i lines of the pages before the page that fails', async (args, lines) => {
  const ran = await list(args, 250, 3)
  expect([ran.exit, ran.stdout.trimEnd().split('\n').length]).toEqual([4, lines])
  expect(ran.stderr).toContain('INSUFFICIENT_SCOPE')
})

test('templates list --all exits 2 after the first page for an unknown field in --fields', async () => {
  const ran = await list('-o jsonl --fields nam', 250)
  expect([ran.exit, ran.stdout, ran.received.length]).toEqual([2, '', 1])
})

test('--all requests no further page after the reader has closed the pipe', async () => {
  const ran = await list('-o jsonl', 10_000, 0, { linesTaken: 150 })
  expect([ran.exit, ran.stderr, ran.received.length]).toEqual([0, '', 2])
})

test('--all prints the table header once and widens a row for longer values of later pages', async () => {
  const names = ['short', 'a name that is longer than the one before']
  const { baseUrl } = await stub(({ path }) => {
    const at = pageIn(path)
    return success({
      items: [{ ...template, name: names[at - 1] }],
      pagination: { page: at, limit: 1, total: 2, pages: 2 },
    })
  })
  const ran = await cli(`templates list --all --base-url ${baseUrl}`, { env: secrets })
  expect(ran.stdout.split('\n')).toEqual([
    'ID      NAME   STATUS  ISSUED COUNT  ISSUE LIMIT',
    'tpl_01  short  draft              3           10',
    `tpl_01  ${names[1]}  draft              3           10`,
    '',
  ])
})

test.each(['apps list', 'tokens list --app app_01', 'bots list', 'platform chats list', 'platform chats messages c'])(
  'the command %s --all requests every page of the list',
  async (command) => {
    const { baseUrl, received } = await stub(({ path }) => pageResponse(101, pageIn(path)))
    const ran = await cli(`${command} --all -o jsonl --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stdout.split('\n').length, received.length]).toEqual([0, 102, 2])
  },
)

test('--all prints a table of more than 1,000 rows with the column widths of the first 1,000', async () => {
  const rows = (await list('--timeout 1h', 1_050)).stdout.trimEnd().split('\n')
  expect(rows).toHaveLength(1_051)
  // From tpl_1000 on, ids are wider than the column, so each shifts the rest of its row.
  expect(rows.slice(1_000, 1_002)).toEqual([
    'tpl_999  One free coffee  draft              3           10',
    'tpl_1000  One free coffee  draft              3           10',
  ])
  const narrow = await list('--timeout 1h', 1_050, 0, { terminal: true, columns: 40 })
  expect(Math.max(...narrow.stdout.split('\n').map((it) => it.length))).toBeLessThanOrEqual(40)
})

test('--all removes the temporary file that buffers a long list', async () => {
  const [folder, home] = [temporaryDir(), temporaryDir()]
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  // The list has 5 MB: above 4 MiB the command buffers it in a temporary file.
  const items = Array.from({ length: LIMIT }, () => ({ ...template, description: 'd'.repeat(4_096) }))
  const { baseUrl } = await stub(({ path }) =>
    success({ items, pagination: { page: pageIn(path), limit: LIMIT, total: 1_200, pages: 12 } }),
  )
  const ran = await cli(`templates list --all --json --base-url ${baseUrl}`, { home, env: secrets })
  expect(JSON.parse(ran.stdout).items.length).toBe(1_200)
  expect(readdirSync(folder)).toEqual([])
})
