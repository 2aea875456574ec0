import { join } from 'node:path'
import { expect, test } from 'vitest'
import { matching } from '../../../src/cli/prompts/questions.js'
import { InboxWriter } from '../../../src/workbench/inbox-writer.js'
import { cli, type Given, redeemCode, refusal, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { app, bot, chat, delivery, pageOf, template, token, verification } from '../../support/cli/samples.js'

const env = { ...secrets, NO_COLOR: '1' }

/** Runs a command on a terminal against a server with this response, and types the replies. */
async function prompted(line: string, replies: NonNullable<Given['replies']>, data: unknown) {
  const { baseUrl, received } = await stub(() => success(data))
  return { ...(await cli(`${line} --base-url ${baseUrl}`, { env, terminal: true, replies })), baseUrl, received }
}

test('apps create prompts for a missing name on a terminal and sends the reply', async () => {
  const ran = await prompted('apps create', ['Shop'], app)
  expect(ran.exit).toBe(0)
  expect(ran.asked).toEqual(['Name of the application'])
  expect(ran.received[0]?.body).toEqual({ name: 'Shop' })
})

test('templates create prompts for all required values in order', async () => {
  const replies = ['coffee', 'Coffee', 'gift', 'Shop', 'Shop', 'physical_goods', 'purchase', '30', '5']
  const ran = await prompted('templates create', replies, template)
  expect(ran.exit).toBe(0)
  expect(ran.asked).toHaveLength(9)
  expect(ran.received[0]?.body).toMatchObject({
    name: 'Coffee',
    type: 'gift',
    validity: { type: 'relative', duration_days: 30 },
    issue_limit: 5,
  })
})

test('a command repeats its prompt, with the reason, until the answer is valid', async () => {
  const replies = ['soon', ' 2h ']
  const ran = await prompted('platform clock advance', replies, { now: '2027-01-01T00:00:00.000Z', offset_ms: 0 })
  expect(ran.asked).toEqual(['How far, such as 2h', '--in must be seconds, or a duration such as 2h.'])
  expect([ran.exit, ran.received[0]?.body]).toEqual([0, { seconds: 7200 }])
})

test('bots apply checks name and username at the prompt', async () => {
  const replies = ['x'.repeat(101), 'Coffee', 'Coffee Bot', 'coffee_bot']
  const ran = await prompted('bots apply', replies, bot)
  expect(ran.asked).toEqual([
    'Name of the bot',
    '--name must have at most 100 characters.',
    'Username',
    '--username must be 3 to 64 of a-z 0-9 _, starting with a letter.',
  ])
  expect(ran.received[0]?.body).toEqual({ name: 'Coffee', username: 'coffee_bot' })
})

test('prompt for a redeem code refuses a mistyped one, and the printed line reads it from stdin', async () => {
  const replies = ['M9S3-46Q3-D25V-T4FK', redeemCode]
  const ran = await prompted('vouchers verify', replies, verification)
  expect([ran.exit, ran.asked.length]).toEqual([0, 2])
  expect(ran.received[0]?.body).toEqual({ credential: { type: 'redeem_code', value: redeemCode } })
  expect(ran.stderr).toContain(`\`voucherctl vouchers verify --base-url ${ran.baseUrl} -\``)
  expect(ran.stderr).not.toContain(redeemCode)
})

test('a prompt for a file to read refuses a path without a file', async () => {
  const ran = await cli('scenario run', { terminal: true, replies: ['missing.yaml', undefined] })
  expect(ran.asked[1]).toBe('There is no file missing.yaml.')
})

test('a command exits 130 for Ctrl-C at its prompt and sends nothing', async () => {
  const ran = await prompted('apps create', [undefined], app)
  expect([ran.exit, ran.stdout, ran.received.length]).toEqual([130, '', 0])
})

test('a command with --no-input exits 3 instead of prompting on a terminal', async () => {
  const ran = await prompted('apps create --no-input', ['Shop'], app)
  expect([ran.exit, ran.asked]).toEqual([3, []])
  expect(ran.stderr).toContain('--name')
})

test('a command without a terminal names all missing values in one error', async () => {
  const { stderr } = await cli('vouchers issue --external-id e --json', { env })
  expect(JSON.parse(stderr).error.details.missing).toEqual(['--template', '--recipient'])
})

test('a command prompts for a missing credential with hidden input and sends it', async () => {
  const { baseUrl, received } = await stub(() => success(verification))
  const ran = await cli(`vouchers verify --code ${redeemCode} --base-url ${baseUrl}`, {
    terminal: true,
    replies: ['sop_typed'],
  })
  expect(ran.exit).toBe(0)
  expect(ran.asked[0]).toMatch(/application token for .*hidden/)
  expect(received[0]?.headers.authorization).toBe('Bearer sop_typed')
  expect(ran.stdout + ran.stderr).not.toContain('sop_typed')
})

/** A server with one record of each kind; every change succeeds with a template. */
const shop = () =>
  stub(({ method, path }) => {
    if (method !== 'GET') return success({ ...template, ...token })
    if (path.startsWith('/_platform/v1/chats')) return success(pageOf(chat))
    if (path.includes('/deliveries')) return success(pageOf(delivery))
    if (path.includes('/tokens')) return success(pageOf(token))
    const status = path.includes('status=active') ? 'active' : template.status
    if (path.includes('/templates')) return success(pageOf({ ...template, status }))
    return success(pageOf(path.includes('/bots/') ? bot : app))
  })

test.each([
  ['apps get', ['app_01'], [['app_01', 'Coffee shop, active']]],
  ['templates submit', ['tpl_01'], [['tpl_01', 'One free coffee, draft']]],
  ['bots get', ['bot_01'], [['bot_01', 'Coffee bot, active']]],
  ['bots send --text Hello', ['chat_01'], [[chat.id, 'user-42, private']]],
  ['vouchers issue --external-id e --recipient u', ['tpl_01'], [['tpl_01', 'One free coffee, active']]],
])('prompt of %s offers the values of the server', { tags: 'prompts/1' }, async (line, replies, words) => {
  const { baseUrl } = await shop()
  const ran = await cli(`${line} --base-url ${baseUrl}`, { env, terminal: true, replies })
  expect(ran.offered).toEqual([words])
})

test.each([
  ['tokens revoke --yes', ['app_01', 'tok_01'], 'tok_01', '--app app_01 tok_01'],
  ['webhook retry', ['bot_01', 'dlv_01'], delivery.id, '--bot bot_01 dlv_01'],
])('%s first prompts for the id that the list of its argument needs', async (line, replies, id, words) => {
  const { baseUrl } = await shop()
  const ran = await cli(`${line} --base-url ${baseUrl}`, { env, terminal: true, replies })
  expect([ran.exit, ran.offered.map((it) => it[0]?.[0])]).toEqual([0, [replies[0], id]])
  expect(ran.stderr).toContain(`${words}\``)
})

test('the prompt of webhook inbox show offers the recorded deliveries', async () => {
  const home = temporaryDir()
  const inbox = join(home, 'inbox')
  const writer = new InboxWriter(inbox)
  const update = { verdict: 'ok', reason: null, update_id: '7', type: 'message' } as const
  await writer.recordDelivery({ ...update, at: 0, method: 'POST', url: '/', headers: [], body: Buffer.from('{}') })
  await writer.close()
  const ran = await cli('webhook inbox show --inbox inbox --raw', { home, terminal: true, replies: ['1-1'] })
  expect([ran.exit, ran.stdout, ran.offered]).toEqual([0, '{}', [[['1-1', 'message #7, ok, 1970-01-01 00:00:00Z']]]])
})

test('prompt lists every page from the server and ignores the completion cache', { tags: 'prompts/1' }, async () => {
  const { baseUrl, received } = await stub(({ path }) => {
    const page = Number(new URL(path, 'http://shop').searchParams.get('page') ?? 1)
    return success({ items: [{ ...app, id: `app_${page}` }], pagination: { page, limit: 100, total: 201, pages: 3 } })
  })
  const home = temporaryDir()
  for (let run = 0; run < 2; run += 1) {
    const ran = await cli(`apps get --base-url ${baseUrl}`, { env, home, terminal: true, replies: ['app_3'] })
    expect(ran.offered[0]?.map(([id]) => id)).toEqual(['app_1', 'app_2', 'app_3'])
  }
  expect(received.filter((it) => it.path.includes('limit=100'))).toHaveLength(6)
})

test('prompt offers no list in a dry run, which sends nothing', async () => {
  const { baseUrl, received } = await shop()
  const line = `templates submit --dry-run --base-url ${baseUrl}`
  const ran = await cli(line, { env, terminal: true, replies: ['tpl_01'] })
  expect([ran.exit, ran.offered, received]).toEqual([0, [], []])
})

test('prompt reports an empty list and accepts any text', async () => {
  const { baseUrl } = await stub(({ path }) => success(path.endsWith('app_01') ? app : pageOf()))
  const ran = await cli(`apps get --base-url ${baseUrl}`, { env, terminal: true, replies: ['app_01'] })
  expect([ran.exit, ran.offered]).toEqual([0, []])
  expect(ran.stderr).toContain(`The list is empty: there are no applications to choose from on ${baseUrl}.\n`)
})

test('prompt accepts any text if the server refuses the list', async () => {
  const { baseUrl } = await stub(({ path }) => (path.endsWith('app_01') ? success(app) : refusal(403, 'FORBIDDEN')))
  const ran = await cli(`apps get --base-url ${baseUrl}`, { env, terminal: true, replies: ['app_01'] })
  expect([ran.exit, ran.offered]).toEqual([0, []])
  expect(ran.stderr).not.toContain('The list is empty')
})

const SAME = 'The same command with these answers:'

test('a prompted command ends with the line that repeats it, quoted for a shell', async () => {
  const { baseUrl } = await stub(() => success(app))
  const given = { env: { ...env, npm_command: 'exec' }, terminal: true }
  const ran = await cli(`apps create --base-url ${baseUrl}`, { ...given, replies: ["Lea's shop"] })
  const line = `npx voucherctl apps create --base-url ${baseUrl} --name 'Lea'\\''s shop'`
  expect(ran.stderr).toContain(`${SAME} \`${line}\``)
  const quiet = await cli(`apps create -q --base-url ${baseUrl}`, { ...given, replies: ['Shop'] })
  expect(quiet.stderr).toBe('')
  expect((await cli(`apps create --name Shop --base-url ${baseUrl}`, given)).stderr).not.toContain(SAME)
})

test.each([
  ['the server refuses the call', 'Shop', refusal(409, 'APPLICATION_EXISTS')],
  ['the connection fails', 'Shop', { drop: true }],
])('a prompted command shows its line with the answers, even with --quiet, when %s', async (_when, name, response) => {
  const { baseUrl } = await stub(() => response)
  const line = `apps create --quiet --retries 0 --base-url ${baseUrl}`
  const ran = await cli(line, { env, terminal: true, replies: [name] })
  expect(ran.exit).not.toBe(0)
  expect(ran.stderr).toContain(`${SAME} \`voucherctl ${line} --name Shop\``)
})

test('Ctrl-C at a later prompt shows the line with the answers so far', async () => {
  const ran = await cli('templates create', { env, terminal: true, replies: ['coffee', 'One free coffee', undefined] })
  expect(ran.exit).toBe(130)
  expect(ran.stderr).toContain("`voucherctl templates create --external-id coffee --name 'One free coffee'`")
})

test('a declined confirmation shows the line with the answers, without --yes', async () => {
  const { baseUrl, received } = await shop()
  const replies = ['bot_01', false]
  const ran = await cli(`webhook delete --base-url ${baseUrl}`, { env, terminal: true, replies })
  expect([ran.exit, received.filter((it) => it.method !== 'GET')]).toEqual([3, []])
  expect(ran.stderr).toContain(`\`voucherctl webhook delete --base-url ${baseUrl} bot_01\``)
})

test('a printed line never contains a typed credential', async () => {
  const { baseUrl } = await stub(() => success(app))
  const ran = await cli(`apps get --base-url ${baseUrl}`, { terminal: true, replies: ['app_01', 'eyJtyped.eyJ.sig'] })
  expect(ran.stderr).toContain(`\`voucherctl apps get --base-url ${baseUrl} app_01\``)
  expect(ran.stderr).not.toContain('eyJtyped')
})

test('prompt finds list items by name or id and also offers the typed text', () => {
  const words = [
    { value: 'app_1', summary: 'Coffee shop, active' },
    { value: 'app_2', summary: '咖啡店, active' },
  ]
  const named = (typed: string) => matching(words, typed, 80).map(({ value, name }) => [value, name])
  const [shop, cafe] = [
    ['app_1', 'Coffee shop, active  app_1'],
    ['app_2', '咖啡店, active       app_2'],
  ]
  expect(named('')).toEqual([shop, cafe])
  expect(named('coffee')).toEqual([shop, ['coffee', 'coffee']])
  expect(named('app_2')).toEqual([cafe])
  expect(named('app_3')).toEqual([['app_3', 'app_3']])
  expect(matching(words, '', 24)[0]?.name).toBe('Coffee shop, …  app_1')
})
