import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../../../../src/testing/index.js'
import type { TestServer } from '../../../../src/testing/types.js'
import { Bulk, idsOf, issuer } from '../../../support/cli/bulk.js'
import { cli, secrets, stub, success } from '../../../support/cli/cli.js'
import { homeWithProfiles } from '../../../support/cli/profiles.js'

/** The same server under an address that voucherctl treats as remote. */
const remote = (baseUrl: string) => baseUrl.replace('127.0.0.1', '0.0.0.0')
const warningFor = (baseUrl: string) => {
  const where = `The token goes unencrypted over http to ${new URL(baseUrl).host}, readable on the way.`
  return `warning: ${where} Use an https base URL, or --secure required.\n`
}
const pages = () => stub(() => success({ items: [], pagination: { page: 1, limit: 20, total: 0, totalPages: 0 } }))

const withProfile = (profile: object) => homeWithProfiles({ default: profile })

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

test.each([
  'templates list',
  'templates list --json',
  'templates list --quiet',
  'apps list',
  'api GET /open-platform/vouchers/templates',
  'bots updates --json',
])('%s warns once that it sends a credential over http', { tags: 'credentials-over-http/1' }, async (line) => {
  const { baseUrl, received } = await pages()
  const url = remote(baseUrl)
  const { exit, stderr } = await cli(`${line} --base-url ${url}`, { env: secrets })
  expect([exit, stderr, received.length]).toEqual([0, warningFor(url), 1])
})

test('a command does not warn if it sends a credential over http to a loopback address', async () => {
  const { baseUrl } = await pages()
  const { exit, stderr } = await cli(`templates list --base-url ${baseUrl}`, { env: secrets })
  expect([exit, stderr]).toEqual([0, ''])
})

test('a failure with --json prints the error object without the http warning', async () => {
  const { baseUrl } = await stub(() => ({ status: 500, body: {} }))
  const args = ['templates', 'list', '--json', '--retries', '0', '--base-url', remote(baseUrl)]
  const { exit, stderr } = await cli(args, { env: secrets })
  expect([exit, Object.keys(JSON.parse(stderr))]).toEqual([9, ['error']])
})

test('issue-many warns once, not per row, that it sends a token over http', async () => {
  const bulk = Bulk.of(idsOf(20))
  const { baseUrl } = await issuer()
  const url = remote(baseUrl)
  const { exit, stderr } = await cli(bulk.args(url, '--json'), { home: bulk.dir, env: secrets })
  expect([exit, stderr]).toEqual([0, warningFor(url)])
})

test('production profile sends no token over http to a remote host', { tags: 'credentials-over-http/1' }, async () => {
  const { baseUrl, received } = await pages()
  const home = withProfile({ base_url: remote(baseUrl), production: true })
  const bulk = Bulk.of(['a', 'b'])
  const many = ['vouchers', 'issue-many', bulk.input, '--template', 'tpl_1', '--out', bulk.out, '--yes', '--json']
  for (const args of [
    ['templates', 'list', '--json'],
    ['api', 'GET', '/open-platform/vouchers/templates', '--json'],
    many,
  ]) {
    const { exit, stdout, stderr } = await cli(args, { home, env: secrets })
    expect([exit, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'CREDENTIAL_UNENCRYPTED',
      hint: expect.stringContaining('--secure required'),
    })
  }
  expect(received).toEqual([])
})

test('a token that is encrypted over http causes no warning', { tags: 'credentials-over-http/1' }, async () => {
  const home = withProfile({ base_url: remote(server.baseUrl), production: true, secure: { mode: 'required' } })
  const { exit, stderr } = await cli('templates list --json', {
    home,
    now: Date.now(),
    env: { VOUCHERCTL_TOKEN: server.token },
  })
  expect([exit, stderr]).toEqual([0, ''])
})
