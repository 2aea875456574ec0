import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'
import { app, bot, pageOf, template, token } from '../../support/cli/samples.js'

const apps = pageOf(
  { ...app, name: 'Shop' },
  { ...app, id: 'app_02', name: 'Twin' },
  { ...app, id: 'app_03', name: 'Twin' },
)
const bots = pageOf({ ...bot, id: 'bot_01', username: 'shop_bot' })
const templates = pageOf({ ...template, id: 'tpl_01', externalTemplateId: 'coffee', status: 'active' })

/** A platform with three applications, a bot and a template; other calls succeed with a sample. */
const platform = () =>
  stub(({ method, path }) => {
    const list = path.replace(/\?.*/, '')
    if (method === 'GET' && list.endsWith('/applications')) return success(apps)
    if (method === 'GET' && list.endsWith('/bots/my')) return success(bots)
    if (method === 'GET' && list.endsWith('/vouchers/templates')) return success(templates)
    return success(path.includes('/tokens') ? { items: [token] } : { ...template, ...bot, ...app })
  })

async function run(line: string | readonly string[]) {
  const { baseUrl, received } = await platform()
  const words = typeof line === 'string' ? line.split(' ') : line
  const ran = await cli([...words, '--base-url', baseUrl], { env: secrets })
  return { ...ran, calls: received.map(({ method, path }) => `${method} ${path.replace('/api/v1', '')}`) }
}

const listApps = 'GET /open-platform/applications?limit=100'
const listBots = 'GET /bots/my?limit=100'

test.each([
  ['apps get Shop', [listApps, 'GET /open-platform/applications/app_01']],
  ['tokens list --app Shop', [listApps, 'GET /open-platform/applications/app_01/tokens']],
  ['bots get shop_bot', [listBots, 'GET /bots/my/bot_01']],
  ['bots get @shop_bot', [listBots, 'GET /bots/my/bot_01']],
  [
    'templates get coffee --bot shop_bot',
    [listBots, 'GET /bots/my/bot_01/vouchers/templates?external_template_id=coffee&limit=100'],
  ],
  [
    'templates submit coffee',
    ['GET /open-platform/vouchers/templates?limit=100', 'POST /open-platform/vouchers/templates/tpl_01/submit'],
  ],
  ['platform bots approve shop_bot', [listBots, 'POST /_platform/v1/bots/bot_01/approve']],
  ['apps get app_99', ['GET /open-platform/applications/app_99']],
])('the command "%s" makes the calls %j', { tags: 'names-of-records/1' }, async (line, calls) => {
  const { exit, stderr, calls: made } = await run(line)
  expect([exit, stderr, made]).toEqual([0, '', calls])
})

test('a command refuses a name that two records have, and names both ids', { tags: 'names-of-records/2' }, async () => {
  const { exit, stderr, calls } = await run('apps get Twin')
  expect([exit, calls]).toEqual([2, [listApps]])
  expect(stderr).toContain('2 applications have the name Twin: app_02, app_03.')
})

test('a name of no record is refused with the command that lists ids', { tags: 'names-of-records/2' }, async () => {
  const { exit, stderr, calls } = await run('bots get nobody')
  expect([exit, calls]).toEqual([2, [listBots]])
  expect(stderr).toMatch(/None of the bots has the name or id nobody\.[\s\S]*`voucherctl bots list --base-url \S+`/)
})

test('a command says that it read one page only if the list has more', async () => {
  const { baseUrl } = await stub(() => success({ ...apps, pagination: { page: 1, limit: 100, total: 250, pages: 3 } }))
  const { stderr } = await cli(`apps get Nowhere --base-url ${baseUrl}`, { env: secrets })
  expect(stderr).toContain('None of the first 100 applications has the name or id Nowhere.')
})

test('a text is an id if the ids of the platform have another form', { tags: 'names-of-records/2' }, async () => {
  const { baseUrl, received } = await stub(() => success(pageOf({ ...app, id: '7c4e' }, { ...app, id: '81aa' })))
  await cli(`apps get 99ff --base-url ${baseUrl}`, { env: secrets })
  expect(received.at(-1)?.path).toBe('/api/v1/open-platform/applications/99ff')
})

test('a dry run looks up the name with a GET that it lists, and says so', { tags: 'names-of-records/2' }, async () => {
  const line = 'apps update Shop --name New --dry-run'
  const { exit, stdout, calls } = await run(line)
  expect([exit, calls]).toEqual([0, [listApps]])
  expect(stdout).toMatch(/^Dry run: nothing was changed\. Only what is marked as sent was sent, to look up ids\.\n/)
  expect(stdout).toMatch(/\n\nGET \S+\/applications\?limit=100 \(sent\)\n[^]*\nPATCH \S+\/applications\/app_01\n/)
  const { requests } = JSON.parse((await run(`${line} --json`)).stdout)
  expect(requests).toMatchObject([{ method: 'GET', sent: true }, { method: 'PATCH' }])
  expect(requests[1]).not.toHaveProperty('sent')
})

test('a dry run of a bulk command looks up the name of its template', async () => {
  const home = temporaryDir()
  writeFileSync(join(home, 'rows.csv'), 'external_issue_id,recipient_user_id\norder-1,user-1\n')
  const { baseUrl, received } = await platform()
  const line = `vouchers issue-many ${home}/rows.csv --template coffee --out ${home}/out.csv --dry-run`
  const { exit, stdout } = await cli(`${line} --base-url ${baseUrl}`, { env: secrets, home })
  expect([exit, received.map((it) => it.method)]).toEqual([0, ['GET']])
  expect(stdout).toContain('tpl_01')
})

test.each([
  ['bots get shop_bto', 2, 'shop_bot', 'bots list'],
  ['apps get shp --dry-run', 2, 'Shop', 'apps list'],
  ['templates submit cofee', 2, 'coffee', 'templates list'],
  ['templates get cofee', 5, 'coffee', 'templates list'],
])('the mistyped name of "%s" gets a suggestion', async (line, code, name, list) => {
  const { exit, stderr } = await run(line)
  expect(exit).toBe(code)
  expect(stderr).toContain(`Did you mean ${name}?`)
  expect(stderr).toContain(`\`voucherctl ${list} --base-url`)
})

test('a dry run sends the credential of a local server only to a server that proves itself', async () => {
  const { baseUrl, received } = await platform()
  const jwt = { value: secrets.VOUCHERCTL_JWT, origin: baseUrl, store: 'str_other' }
  const home = homeWithProfiles({ shop: { base_url: baseUrl, store: 'str_other', credentials: { jwt } } })
  const ran = await cli('apps update Shop --name New --dry-run -p shop', { home })
  expect([ran.exit, received]).toEqual([9, []])
})

test('scenario run --base-url takes names for ids', { tags: ['names-of-records/1', 'scenarios/1'] }, async () => {
  const { baseUrl, received } = await platform()
  const home = temporaryDir()
  const file = join(home, 'names.yaml')
  const step = (appId: string) => `  - call: apps.get\n    as: jwt\n    with: { appId: ${appId} }\n`
  writeFileSync(file, `name: names\nsteps:\n${step('Shop')}`)
  const passed = await cli(`scenario run ${file} --base-url ${baseUrl}`, { env: secrets, home })
  expect([passed.exit, passed.stderr]).toEqual([0, ''])
  expect(received.at(-1)?.path).toBe('/api/v1/open-platform/applications/app_01')
  writeFileSync(file, `name: names\nsteps:\n${step('Twin')}`)
  const failed = await cli(`scenario run ${file} --base-url ${baseUrl}`, { env: secrets, home })
  expect(failed.exit).toBe(1)
  expect(failed.stdout).toContain('2 applications have the name Twin')
})
