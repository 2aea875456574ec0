import { describe, expect, test } from 'vitest'
import { cli, refusal, secrets, stub, success } from '../../support/cli/cli.js'
import { app, bot, delivery, pageOf, template, token } from '../../support/cli/samples.js'

const { VOUCHERCTL_JWT } = secrets
const env = { VOUCHERCTL_JWT }

/** An account whose second owner of two has the record; every change succeeds with a sample. */
const account = (count = 2, records: (owner: string, page: number) => object = has(count)) =>
  stub(({ method, path }) => {
    const [route = '', query = ''] = path.split('?')
    if (method !== 'GET') return success(path.includes('/tokens/') ? token : { ...template, ...delivery, ...app })
    const [, owner] = /\/((?:app|bot)_\d)\/(?:tokens|deliveries|vouchers)/.exec(route) ?? []
    if (owner !== undefined) return success(records(owner, Number(new URLSearchParams(query).get('page') ?? 1)))
    const [sample, prefix] = route.includes('/bots') ? [bot, 'bot'] : [app, 'app']
    return success(pageOf(...Array.from({ length: count }, (_, n) => ({ ...sample, id: `${prefix}_${n + 1}` }))))
  })

const revoke = 'tokens revoke tok_01 --yes'

const has = (count: number) => (owner: string) =>
  owner.endsWith(String(count)) ? pageOf(token, template, delivery) : pageOf()

/** Runs a command for an account and lists its calls. */
async function run(line: string, count?: number, records?: Parameters<typeof account>[1], more = {}) {
  const { baseUrl, received } = await account(count, records)
  const ran = await cli(`${line} --base-url ${baseUrl}`, { env, ...more })
  return { ...ran, baseUrl, received, calls: methodsOf(received) }
}

const methodsOf = (received: readonly { readonly method: string; readonly path: string }[]) =>
  received.map(
    ({ method, path }) => `${method} ${path.replace(/\?.*/, '').replace(/^.*\/(?=applications|my|bots$)/, '')}`,
  )

describe('a command that takes the id of a record', () => {
  test.each([
    ['tokens revoke tok_01 --yes', 'DELETE applications/app_2/tokens/tok_01', 4],
    ['webhook retry dlv_01', 'POST my/bot_2/deliveries/dlv_01/retry', 4],
    ['templates submit tpl_01', 'POST my/bot_2/vouchers/templates/tpl_01/submit', 4],
  ])('%s finds the owner by its lists and then makes its call', async (line, call, calls) => {
    const ran = await run(line)
    expect([ran.exit, ran.stderr, ran.calls.at(-1), ran.calls.length]).toEqual([0, '', call, calls])
  })

  test('the only owner is taken without reading its list', async () => {
    const { exit, calls } = await run(revoke, 1)
    expect([exit, calls]).toEqual([0, ['GET applications', 'DELETE applications/app_1/tokens/tok_01']])
  })

  test('the search ends at the first owner that has the record', async () => {
    const { calls } = await run(revoke, 3, has(1))
    expect(calls.slice(1)).toEqual(['GET applications/app_1/tokens', 'DELETE applications/app_1/tokens/tok_01'])
  })

  test('an application token decides for templates get and submit without a search', async () => {
    const both = { ...env, VOUCHERCTL_TOKEN: secrets.VOUCHERCTL_TOKEN }
    const { received } = await run('templates submit tpl_01', 2, undefined, { env: both })
    expect(received.map(({ path }) => path)).toEqual(['/api/v1/open-platform/vouchers/templates/tpl_01/submit'])
  })

  test('an id that no owner has exits with 5, and an id of another kind is named', async () => {
    const { exit, stderr, baseUrl, received } = await run('tokens revoke app_9 --yes')
    expect(exit).toBe(5)
    expect(stderr).toContain('None of the 2 applications of this account has the token app_9. (TOKEN_NOT_FOUND)')
    expect(stderr).toContain('app_9 is the id of an application; that of an application token begins with tok_.')
    expect(stderr).toContain(`\`voucherctl tokens list --app app_1 --base-url ${baseUrl}\``)
    expect(received.every(({ method }) => method === 'GET')).toBe(true)
  })

  test.each([
    [
      'an account without applications',
      'tokens revoke tok_01 --yes',
      0,
      /no application.*\n.*--app; `voucherctl apps list/,
    ],
    [
      'the number of an update of several bots',
      'webhook retry 17',
      2,
      /an update 17\..*\n.*--bot; `voucherctl bots list/,
    ],
  ])('%s exits with 3 and names the flag', async (_, line, count, message) => {
    const { exit, stderr, received } = await run(line, count)
    expect([exit, stderr, received.length]).toEqual([3, expect.stringMatching(message), 1])
  })

  test('the search ends after 50 calls', async () => {
    const pages = (_: string, page: number) => ({ items: [], pagination: { page, limit: 100, total: 9e9, pages: 9e7 } })
    const { exit, stderr, received } = await run(revoke, 2, pages)
    expect([exit, stderr, received.length]).toEqual([3, expect.stringContaining('not found with 50 calls'), 50])
  })

  test('a list that is refused is skipped, but a refused credential ends the search', async () => {
    for (const [status, exit] of [
      [403, 0],
      [401, 4],
    ] as const) {
      const { baseUrl } = await stub(({ path }) => {
        if (path.includes('/app_1/')) return refusal(status, 'REFUSED')
        if (path.includes('/app_2/')) return success(path.endsWith('tok_01') ? token : pageOf(token))
        return success(pageOf({ ...app, id: 'app_1' }, { ...app, id: 'app_2' }))
      })
      expect((await cli(`tokens revoke tok_01 --yes --base-url ${baseUrl}`, { env })).exit).toBe(exit)
    }
  })

  test('a dry run shows the search and the call, and sends nothing', async () => {
    const { exit, stdout, received } = await run('tokens revoke tok_01 --dry-run')
    expect([exit, received]).toEqual([0, []])
    expect(stdout).toMatch(
      /GET \S+\/applications\?limit=100\n[^]*would read the token list of each application.*tok_01\n/,
    )
    expect(stdout).toMatch(/DELETE \S+\/applications\/APP_ID\/tokens\/tok_01\n/)
  })

  test('a terminal asks for an owner that is still unknown', async () => {
    const ran = await run('webhook retry 17', 2, undefined, { terminal: true, replies: ['bot_2'] })
    expect([ran.exit, ran.asked]).toEqual([0, ['Bot id']])
    expect(ran.calls.at(-1)).toBe('POST my/bot_2/deliveries/17/retry')
  })
})

describe('apps unlink-bot without --bot', () => {
  const linkedTo = (...bots: readonly string[]) =>
    stub(() => success({ ...app, linkedBots: bots.map((botId) => ({ botId, username: botId, linkedAt: '' })) }))

  test('takes the only linked bot', async () => {
    const { baseUrl, received } = await linkedTo('bot_7')
    expect((await cli(`apps unlink-bot app_01 --yes --base-url ${baseUrl}`, { env })).exit).toBe(0)
    expect(methodsOf(received)).toEqual(['GET applications/app_01', 'DELETE applications/app_01/bots/bot_7'])
  })

  test('exits with 3 and names the bots if several or none are linked', async () => {
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
