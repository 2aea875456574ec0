import { expect, test } from 'vitest'
import { cli, refusal, secrets, stub, success } from '../../support/cli/cli.js'

const createdAt = '2026-11-21T20:00:05.250Z'
const app = { id: 'app_01', name: 'Shop', status: 'active', createdAt }
const zone = () => 480
const now = Date.parse('2026-11-21T20:00:15Z')

const list = success({ items: [app], pagination: { page: 1, limit: 20, total: 1, pages: 1 } })

async function run(line: string, response = list, more = {}) {
  const { baseUrl } = await stub(() => response)
  const { stdout, stderr } = await cli(`${line} --base-url ${baseUrl}`, { env: secrets, zone, now, ...more })
  return stdout + stderr
}

const local = '2026-11-22 04:00:05+08:00'

test.each([
  ['a table', 'apps list --fields createdAt', `CREATED AT\n${local} (10s ago)\n`],
  ['a table in a terminal', 'apps list --fields createdAt --quiet', `${local} (10s ago)\n`],
  ['a table with --utc', 'apps list --fields createdAt --utc', 'CREATED AT\n2026-11-21 20:00:05Z (10s ago)\n'],
  ['JSON', 'apps list --json', createdAt],
  ['JSONL', 'apps list -o jsonl', createdAt],
  ['YAML', 'apps list -o yaml', createdAt],
  ['CSV', 'apps list -o csv', createdAt],
])('%s of the command `%s` has its form of time', { tags: 'tables/1' }, async (_what, line, shown) => {
  const printed = await run(line, list, { columns: 60, terminal: line.includes('--quiet') })
  expect(printed).toContain(shown)
  if (shown === createdAt) expect(printed).not.toContain('+08:00')
})

test('relative times count from the Date header of the server, whose clock may be moved', async () => {
  const moved = { ...list, headers: { date: 'Sat, 21 Nov 2026 19:59:59 GMT' } }
  expect(await run('apps list --fields createdAt', moved, { now: 0 })).toContain(`${local} (in 6s)\n`)
  const same = { ...list, headers: { date: 'Sat, 21 Nov 2026 20:00:14 GMT' } }
  expect(await run('apps list --fields createdAt', same)).toContain(`${local} (10s ago)\n`)
})

test('a time in a record, headline or error is local for people, UTC in JSON', { tags: 'tables/1' }, async () => {
  expect(await run('apps get app_01', success(app))).toMatch(/^created at +2026-11-22 04:00:05\+08:00$/m)
  const clock = success({ now: createdAt, test_clock: true })
  expect(await run('platform clock show', clock)).toContain(`The test clock says ${local}.`)
  expect(await run('platform clock show --utc', clock)).toContain('The test clock says 2026-11-21 20:00:05Z.')
  const redeemed = refusal(409, 'VOUCHER_ALREADY_REDEEMED', { redeemed_at: createdAt })
  const redeem = 'vouchers redeem 7CXW-YNFN-1KC8-RBQ3'
  expect(await run(redeem, redeemed)).toContain(`redeemed_at: ${local}`)
  expect(await run(`${redeem} --json`, redeemed)).toContain(`"redeemed_at":"${createdAt}"`)
})

test('a table in a narrow terminal shows local times whole', async () => {
  const printed = await run('apps list --fields id,name,createdAt', list, { terminal: true, columns: 42 })
  expect(printed).toContain(local)
})

test.each(['--in 31d', '--seconds 31d', '--in 2678400'])(
  'platform clock advance %s sends the seconds',
  async (flag) => {
    const { baseUrl, received } = await stub(() => success({ now: createdAt, test_clock: true }))
    expect((await cli(`platform clock advance ${flag} --base-url ${baseUrl}`, { env: secrets })).exit).toBe(0)
    expect(received[0]?.body).toEqual({ seconds: 2_678_400 })
  },
)

test('platform clock advance refuses --in together with --seconds, and a line without either', async () => {
  for (const [flags, exit] of [
    ['--in 1d --seconds 1d', 2],
    ['', 3],
  ] as const)
    expect((await cli(`platform clock advance ${flags}`.trim(), { env: secrets })).exit).toBe(exit)
})
