import { describe, expect, test } from 'vitest'
import { cli, refusal, secrets, stub, success } from '../../support/cli/cli.js'
import { app, bot, delivery, pageOf, template, token } from '../../support/cli/samples.js'

const { VOUCHERCTL_JWT } = secrets
const env = { VOUCHERCTL_JWT }

/** An account with so many applications and bots; every change succeeds with a sample. */
const account = (count: number) =>
  stub(({ method, path }) => {
    if (method !== 'GET') return success(path.includes('/tokens/') ? token : { ...template, ...delivery, ...app })
    const [sample, prefix] = path.includes('/bots') ? [bot, 'bot'] : [app, 'app']
    return success(pageOf(...Array.from({ length: count }, (_, n) => ({ ...sample, id: `${prefix}_${n + 1}` }))))
  })

/** Runs a command for an account and lists its calls. */
async function run(line: string, count: number, more = {}) {
  const { baseUrl, received } = await account(count)
  const ran = await cli(`${line} --base-url ${baseUrl}`, { env, ...more })
  return { ...ran, received, calls: methodsOf(received) }
}

const methodsOf = (received: readonly { readonly method: string; readonly path: string }[]) =>
  received.map(
    ({ method, path }) => `${method} ${path.replace(/\?.*/, '').replace(/^.*\/(?=applications|my|bots$)/, '')}`,
  )

describe('a command that takes the id of a record', () => {
  test.each([
    ['tokens revoke tok_01 --yes', 'GET applications', 'DELETE applications/app_1/tokens/tok_01'],
    ['webhook retry dlv_01', 'GET my', 'POST my/bot_1/deliveries/dlv_01/retry'],
    ['webhook retry 17', 'GET my', 'POST my/bot_1/deliveries/17/retry'],
    ['templates submit tpl_01', 'GET my', 'POST my/bot_1/vouchers/templates/tpl_01/submit'],
  ])('%s finds the only owner of the account', { tags: 'owners/1' }, async (line, list, call) => {
    const { exit, stderr, calls } = await run(line, 1)
    expect([exit, stderr, calls]).toEqual([0, '', [list, call]])
  })

  test('templates get and submit use an application token without listing owners', { tags: 'owners/1' }, async () => {
    const both = { ...env, VOUCHERCTL_TOKEN: secrets.VOUCHERCTL_TOKEN }
    const { received } = await run('templates submit tpl_01', 2, { env: both })
    expect(received.map(({ path }) => path)).toEqual(['/api/v1/open-platform/vouchers/templates/tpl_01/submit'])
  })

  test.each([
    ['without applications', 'tokens revoke tok_01 --yes', 0, /no application.*\n.*--app; `voucherctl apps list/],
    ['with several applications', 'tokens revoke tok_01 --yes', 2, /any of them.*\n.*--app; `voucherctl apps list/],
    ['with several bots', 'webhook retry 17', 2, /any of them.*\n.*--bot; `voucherctl bots list/],
  ])('command for an account %s exits 3 and names the flag', { tags: 'owners/1' }, async (_, line, count, message) => {
    const { exit, stderr, received } = await run(line, count)
    expect([exit, stderr, received.length]).toEqual([3, expect.stringMatching(message), 1])
  })

  test('a refused list of owners ends the command before its change', async () => {
    const { baseUrl, received } = await stub(() => refusal(401, 'TOKEN_INVALID'))
    expect((await cli(`tokens revoke tok_01 --yes --base-url ${baseUrl}`, { env })).exit).toBe(4)
    expect(methodsOf(received)).toEqual(['GET applications'])
  })

  test('a dry run finds the owner with the GET that it lists first, and sends nothing else', async () => {
    const { exit, stdout, received } = await run('tokens revoke tok_01 --dry-run', 1)
    expect([exit, methodsOf(received)]).toEqual([0, ['GET applications']])
    expect(stdout).toMatch(/GET \S+\/applications\?limit=2 \(sent\)\n/)
    expect(stdout).toMatch(/DELETE \S+\/applications\/app_1\/tokens\/tok_01\n/)
  })

  test('command on a terminal prompts for one of several owners', async () => {
    const ran = await run('webhook retry 17', 2, { terminal: true, replies: ['bot_2'] })
    expect([ran.exit, ran.asked]).toEqual([0, ['Bot id']])
    expect(ran.calls.at(-1)).toBe('POST my/bot_2/deliveries/17/retry')
  })
})

describe('apps unlink-bot without --bot', () => {
  const linkedTo = (...bots: readonly string[]) =>
    stub(() => success({ ...app, linkedBots: bots.map((botId) => ({ botId, username: botId, linkedAt: '' })) }))

  test('apps unlink-bot takes the only linked bot', { tags: 'owners/1' }, async () => {
    const { baseUrl, received } = await linkedTo('bot_7')
    expect((await cli(`apps unlink-bot app_01 --yes --base-url ${baseUrl}`, { env })).exit).toBe(0)
    expect(methodsOf(received)).toEqual(['GET applications/app_01', 'DELETE applications/app_01/bots/bot_7'])
  })

  test('apps unlink-bot exits 3 and names the bots if several or none are linked', async () => {
    const several = await linkedTo('bot_7', 'bot_8')
    const ran = await cli(`apps unlink-bot app_01 --yes --base-url ${several.baseUrl}`, { env })
    expect([ran.exit, ran.stderr]).toEqual([
      3,
      expect.stringMatching(/bot_7, bot_8\..*\n.*unlink-bot app_01 --bot bot_7/),
    ])
    const none = await linkedTo()
    const { exit, stderr } = await cli(`apps unlink-bot app_01 --yes --base-url ${none.baseUrl}`, { env })
    expect([exit, stderr]).toEqual([3, expect.stringContaining('No bot is linked to app_01.')])
  })
})
