import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { Bulk, issuer } from '../support/cli/bulk.js'
import { cli, redeemCode, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { qrToken } from '../support/cli/samples.js'
import { foreignFile, NOBODY } from '../support/foreign-file.js'
import { openFilesIn } from '../support/open-files.js'

/** Asserts that a file has kept its content and its owner. */
function expectUntouched(path: string, content = '') {
  expect([readFileSync(path, 'utf8'), statSync(path).uid]).toEqual([content, NOBODY])
}

test('sheet refuses a file of another user, also behind a link', { tags: 'files-with-secrets/1' }, async (context) => {
  const home = temporaryDir()
  foreignFile(context, join(home, 'sheet.html'))
  symlinkSync('sheet.html', join(home, 'link.html'))
  writeFileSync(join(home, 'codes.csv'), `redeem_code,qr_token\n${redeemCode},${qrToken}\n`)
  for (const out of ['sheet.html', 'link.html']) {
    const ran = await built.run(['vouchers', 'sheet', 'codes.csv', '--out', out, '--force'], home)
    expect([ran.exit, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toContain(`${out} cannot be written (OWNED_BY_ANOTHER_USER).`)
  }
  expectUntouched(join(home, 'sheet.html'))
  expect(readdirSync(home).sort()).toEqual(['codes.csv', 'link.html', 'sheet.html'])
})

test.for(['out.csv', 'out.csv.journal', 'out.errors.csv'])(
  'issue-many --resume refuses %s of another user before the first call',
  async (name, context) => {
    const bulk = Bulk.of(['order-1'])
    foreignFile(context, join(bulk.dir, name))
    const { baseUrl, received } = await issuer()
    const ran = await bulk.run(baseUrl, ['--resume'])
    expect([ran.exit, ran.stdout, received]).toEqual([1, '', []])
    expect(ran.stderr).toContain('(OWNED_BY_ANOTHER_USER)')
    expectUntouched(join(bulk.dir, name))
    expect(openFilesIn(bulk.dir)).toEqual([])
  },
)

test('vouchers issue --qr-file refuses a file of another user before the first call', async (context) => {
  const home = temporaryDir()
  foreignFile(context, join(home, 'code.svg'))
  const { baseUrl, received } = await stub(() => success({}))
  const issue = 'vouchers issue --template tpl_1 --external-id order-1 --recipient user-1 --qr-file'
  const ran = await cli(`${issue} ${join(home, 'code.svg')} --base-url ${baseUrl}`, { home, env: secrets })
  expect([ran.exit, received]).toEqual([1, []])
  expect(ran.stderr).toContain('cannot be written (OWNED_BY_ANOTHER_USER). No voucher was issued.')
  expectUntouched(join(home, 'code.svg'))
})

test('no credential is stored in a profile file of another user', { tags: 'files-with-secrets/1' }, async (context) => {
  const home = temporaryDir()
  const folder = join(home, '.config', 'voucherctl')
  const profiles = '{"current":"default","profiles":{}}'
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  foreignFile(context, join(folder, 'config.json'), profiles)
  const { baseUrl } = await stub(() => success({ items: [] }))
  const ran = await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: secrets.VOUCHERCTL_TOKEN })
  expect([ran.exit, ran.stdout]).toEqual([1, ''])
  expect(ran.stderr).toContain('cannot be written (OWNED_BY_ANOTHER_USER).')
  expectUntouched(join(folder, 'config.json'), profiles)
})

test('webhook listen refuses a dead letter file of another user before its first poll', async (context) => {
  const home = temporaryDir()
  foreignFile(context, join(home, 'dead.ndjson'))
  const { baseUrl, received } = await stub(() => success({ items: [] }))
  const flags = '--bot bot_1 --max-attempts 2 --dead-letter'
  const env = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: 'whsec_test_secret_0123456789abcdef' }
  const ran = await cli(`webhook listen ${flags} ${join(home, 'dead.ndjson')} --base-url ${baseUrl}`, { home, env })
  expect([ran.exit, received]).toEqual([1, []])
  expect(ran.stderr).toContain('dead.ndjson cannot be written (OWNED_BY_ANOTHER_USER).')
  expectUntouched(join(home, 'dead.ndjson'))
})

test('mcp install --write refuses a file of another user, also behind a link', async (context) => {
  const home = temporaryDir()
  foreignFile(context, join(home, 'theirs.json'), '{}')
  symlinkSync('theirs.json', join(home, '.mcp.json'))
  const ran = await built.run(['mcp', 'install', 'claude', '--write', '--yes'], home)
  expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining('cannot be written (OWNED_BY_ANOTHER_USER).')])
  expectUntouched(join(home, 'theirs.json'), '{}')
})
