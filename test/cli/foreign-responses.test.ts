import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Bulk, idsOf, issuer } from '../support/cli/bulk.js'
import { cli, redeemCode, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { issuedVoucher, redemption, template, token } from '../support/cli/samples.js'
import { listen } from '../support/listen.js'

interface Page {
  readonly status: number
  readonly body: string
  readonly headers?: Record<string, string>
}

/** Starts a server that responds to every request with this page, like the captive portal of a network. */
async function portal({ status, body, headers = {} }: Page): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(status, headers).end(body))
  })
  return `http://127.0.0.1:${await listen(server)}`
}

const html = { 'content-type': 'text/html' }
const pages: Readonly<Record<string, Page>> = {
  'an empty object': { status: 200, body: '{}' },
  'JSON of a captive portal': { status: 200, body: '{"ok":"captive portal"}' },
  'a login page': { status: 200, headers: html, body: '<html>Log in to this network' },
  'an empty body': { status: 200, body: '' },
  'no content': { status: 204, body: '' },
  'a success without data': { status: 200, body: '{"success":true}' },
  'a 404 of a web server': { status: 404, headers: html, body: '<html>Not found' },
  'a 401 of a proxy': { status: 401, headers: html, body: '<html>Who are you?' },
  'a 429 of a proxy': { status: 429, headers: html, body: '<html>Slow down' },
  'a redirect to a login page': { status: 302, headers: { location: 'http://login.example/' }, body: '' },
}

const commands: Readonly<Record<string, readonly string[]>> = {
  issue: ['vouchers', 'issue', '--template', 'tpl_1', '--external-id', 'order-1', '--recipient', 'user-1'],
  redeem: ['vouchers', 'redeem', '--code', redeemCode],
  reverse: ['vouchers', 'reverse', 'rdm_1'],
  verify: ['vouchers', 'verify', '--code', redeemCode],
  'verify --check': ['vouchers', 'verify', '--check', '--code', redeemCode],
  'templates list': ['templates', 'list'],
  'tokens create': ['tokens', 'create', '--app', 'app_1', '--scope', 'vouchers:read', '--save'],
  'bots apply': ['bots', 'apply', '--name', 'Coffee', '--username', 'coffee_bot'],
  whoami: ['whoami'],
  'api POST': ['api', 'POST', '/open-platform/vouchers/redeem', '-f', `credential.value=${'x'.repeat(9)}`],
  'api with an unknown path': ['api', 'GET', '/new/things', '--as', 'token'],
}

const run = (args: readonly string[], baseUrl: string, home = temporaryDir()) =>
  cli([...args, '--retries', '0', '--base-url', baseUrl], { home, env: secrets })

test.each(Object.entries(pages))(
  'commands exit 9 for %s, because a voucher service sends no such response',
  async (_name, page) => {
    const baseUrl = await portal(page)
    for (const [name, args] of Object.entries(commands)) {
      const { exit, stdout, stderr } = await run([...args, '--json'], baseUrl)
      expect([name, exit, stdout], stderr).toEqual([name, 9, ''])
      const { error } = JSON.parse(stderr)
      expect(error).toMatchObject({ code: 'INVALID_RESPONSE', status: page.status })
      expect(error.message).toContain('Not a response of a voucher service')
      expect(error.hint).toContain('Check the base URL')
      // The hint must not claim an unknown outcome for reads or after a 429, which means "not processed".
      const changes = /issue|redeem|reverse|create|apply|api POST/.test(name) && page.status !== 429
      expect([name, error.hint.includes('may have been done')]).toEqual([name, changes])
    }
  },
)

test('login stores nothing when a captive portal responds', async () => {
  for (const page of [pages['an empty object'], pages['a login page']] as Page[]) {
    const home = temporaryDir()
    writeFileSync(join(home, 'token'), secrets.VOUCHERCTL_TOKEN)
    const { exit, stdout } = await run(['login', '--token-file', 'token'], await portal(page), home)
    expect([exit, stdout]).toEqual([9, ''])
    expect(existsSync(join(home, '.config/voucherctl/config.json'))).toBe(false)
  }
})

test('doctor fails the server and credential checks when a captive portal responds', async () => {
  const { exit, stdout } = await run(['doctor', '--json'], await portal(pages['an empty object'] as Page))
  expect(exit).toBe(1)
  const failed = JSON.parse(stdout).checks.filter((it: { status: string }) => it.status === 'fail')
  expect(failed.map((it: { name: string }) => it.name)).toContain('server')
})

test('api -i prints the whole page of a captive portal and exits 9', { tags: 'success/2' }, async () => {
  const { exit, stdout } = await run(
    ['api', 'GET', '/open-platform/applications', '-i'],
    await portal(pages['a login page'] as Page),
  )
  expect([exit, stdout.endsWith('<html>Log in to this network')]).toEqual([9, true])
})

describe('successes that do not match the call', { tags: ['success/1', 'success/3'] }, () => {
  const { credentials: _credentials, ...withoutCredentials } = issuedVoucher
  const cases: readonly (readonly [name: string, data: unknown, says: string])[] = [
    [
      'issue',
      { ...issuedVoucher, externalIssueId: 'order-2' },
      'externalIssueId is not the external_issue_id that was',
    ],
    ['issue', withoutCredentials, 'data.credentials is missing'],
    ['issue', { ...issuedVoucher, credentials: [] }, 'data.credentials is not a list with a redeem code or QR token'],
    ['issue', { ...issuedVoucher, credentials: [{ type: 'coupon', value: 'x' }] }, 'with a redeem code or QR token'],
    ['issue', { ...issuedVoucher, credentials: [{ type: 'redeem_code', value: '' }] }, 'a redeem code or QR token'],
    ['issue', { ...issuedVoucher, id: '' }, 'data.id is not a text'],
    ['redeem', { id: 'rdm_1' }, 'data.status is missing'],
    ['redeem', { ...redemption, status: 'reversed' }, 'data.status is not "succeeded"'],
    ['reverse', { ...redemption, id: 'rdm_1' }, 'data.status is not "reversed"'],
    ['reverse', { ...redemption, status: 'reversed' }, 'data.id is not the redemptionId that was sent'],
    ['verify', {}, 'data.redeemable is missing'],
    ['verify --check', { redeemable: 'no' }, 'data.redeemable is not true or false'],
    ['tokens create', token, 'data.token is missing'],
    ['bots apply', { id: 'bot_1', username: 'tea_bot', review_status: 'pending' }, 'data.username is not the username'],
    ['templates list', { pagination: { page: 1, limit: 20, total: 1, pages: 1 } }, 'data.items is missing'],
    ['api POST', template, 'data.status is not "succeeded"'],
  ]
  test.each(cases.map(([name, data, says]) => [name, says, data] as const))(
    'the command %s exits 9 for a response that does not match the request: %s',
    async (name, says, data) => {
      const { baseUrl } = await stub(() => success(data))
      const { exit, stdout, stderr } = await run(commands[name] ?? [], baseUrl)
      expect([exit, stdout]).toEqual([9, ''])
      expect(stderr).toContain('Not a response of a voucher service (status 200): ')
      expect(stderr).toContain(says)
    },
  )
})

describe('issue-many', () => {
  const start = (bulk: Bulk, baseUrl: string, ...more: string[]) => bulk.run(baseUrl, ['--json', ...more])

  test.each(Object.entries(pages).filter(([, { status }]) => status !== 429))(
    'issue-many exits 9 and leaves no file if the response to every row is %s',
    async (_name, page) => {
      const bulk = Bulk.of(idsOf(20))
      const { exit, stdout, stderr } = await start(bulk, await portal(page))
      expect([exit, stdout], stderr).toEqual([9, ''])
      expect(JSON.parse(stderr).error).toMatchObject({ code: 'INVALID_RESPONSE', details: { issued: 0, failed: 0 } })
      for (const file of ['out.csv', 'out.csv.journal', 'out.errors.csv'])
        expect(existsSync(join(bulk.dir, file))).toBe(false)
    },
  )

  test('issue-many exits 9 and leaves no file if no voucher has a redeem code or QR token', async () => {
    const bulk = Bulk.of(idsOf(20))
    const credentials = [{ type: 'coupon', value: 'x' }]
    const server = await issuer((externalIssueId) => success({ ...issuedVoucher, externalIssueId, credentials }, 201))
    const { exit, stdout } = await start(bulk, server.baseUrl)
    expect([exit, stdout]).toEqual([9, ''])
    for (const file of ['out.csv', 'out.csv.journal']) expect(existsSync(join(bulk.dir, file))).toBe(false)
  })

  test('issue-many --resume reissues rows to which the server had returned the voucher of another', async () => {
    const ids = idsOf(20)
    const bulk = Bulk.of(ids)
    let isCorrect = false
    const server = await issuer(() => {
      return isCorrect ? undefined : success({ ...issuedVoucher, externalIssueId: 'order-3' }, 201)
    })
    expect((await start(bulk, server.baseUrl)).exit).toBe(9)
    if (existsSync(bulk.out)) expect(bulk.ids()).toEqual(['order-3'])
    isCorrect = true
    expect((await start(bulk, server.baseUrl, '--resume')).exit).toBe(0)
    expect(bulk.ids().sort()).toEqual([...ids].sort())
  })
})
