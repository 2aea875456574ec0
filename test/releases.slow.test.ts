import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseLine, withSum } from '../src/files/summed-lines.js'
import { built } from './support/cli/built-cli.js'
import { root } from './support/planting.js'

/** What released versions stored, which test/vectors/releases/make.sh has kept. */
const releases = join(root, 'test/vectors/releases')
const versions = readdirSync(releases).filter((it) => it !== 'make.sh')

test('at least one released version has its state kept', () => expect(versions.length).toBeGreaterThan(0))

describe.each(versions)('state of version %s', (version) => {
  const home = mkdtempSync(join(tmpdir(), 'voucherctl-upgrade-'))
  const path = (name: string) => join(home, name)
  const run = (...args: string[]) => built.run(args, home)
  const json = async (...args: string[]) => {
    const { exit, stdout, stderr } = await run(...args, '--json')
    expect([exit, stderr.replace(/^note: .*\n/gm, '')]).toEqual([0, ''])
    return JSON.parse(stdout)
  }

  beforeAll(async () => {
    execFileSync('tar', ['-C', home, '-xzf', join(releases, version, 'state.tgz')])
    // The data folder is in another place than the released version's, and its server on another port.
    const config = readFileSync(path('.config/voucherctl/config.json'), 'utf8')
    writeFileSync(
      path('.config/voucherctl/config.json'),
      config.replace(/"\/[^"]*\/data"/g, JSON.stringify(path('data'))),
    )
    await json('server', 'start', '--data', 'data', '--port', '0', '--detach')
  })
  afterAll(async () => {
    await run('server', 'stop', '--data', 'data')
    rmSync(home, { recursive: true, force: true })
  })

  test(`a server and a profile of version ${version} work with this version`, async () => {
    const { items } = await json('templates', 'list', '--profile', 'shop', '--status', 'active')
    const named = (id: string) => items.find((it: { externalTemplateId: string }) => it.externalTemplateId === id)
    expect(items).toEqual([named('coffee-2'), named('coffee-1')])
    const template = named('coffee-1')
    const issue = ['vouchers', 'issue', '--profile', 'shop', '--template', template.id, '--recipient', 'user-1']
    expect(await json(...issue, '--external-id', 'later-1')).toMatchObject({ status: 'issued' })
  })

  test(`codes that version ${version} issued are verified by this version`, async () => {
    const [, first, second] = readFileSync(path('codes.csv'), 'utf8').split('\n')
    const [redeemed, issued] = [first, second].map((it = '') => it.split(','))
    const verify = (code = '') => json('vouchers', 'verify', code, '--profile', 'shop')
    const { voucher } = await verify(redeemed?.[4])
    expect(voucher).toMatchObject({ id: redeemed?.[3], status: 'redeemed', recipientUserId: 'user-1' })
    expect((await verify(issued?.[4])).voucher).toMatchObject({ id: issued?.[3], status: 'issued' })
  })

  test(`a bulk run of version ${version} resumes from its journal`, async () => {
    const { base_url } = await json('server', 'status', '--data', 'data')
    const [header = '', ...rest] = readFileSync(path('codes.csv.journal'), 'utf8').split(/(?<=\n)/)
    const { sum: _sum, ...identity } = JSON.parse(header)
    expect(parseLine(Buffer.from(header.trimEnd()))).toBeDefined()
    writeFileSync(path('codes.csv.journal'), [withSum({ ...identity, server: base_url }), ...rest].join(''))
    const args = ['customers.csv', '--profile', 'shop', '--template', identity.template, '--out', 'codes.csv']
    const { exit, stdout } = await run('vouchers', 'issue-many', ...args, '--resume', '--json')
    const counts = { total: 3, issued: 0, skipped: 2, failed: 1 }
    expect([exit, JSON.parse(stdout)]).toEqual([11, expect.objectContaining(counts)])
  })

  test(`an inbox of version ${version} is listed with its deliveries`, async () => {
    const { items } = await json('webhook', 'inbox', 'list', '--inbox', 'inbox')
    expect(items.map((it: { type: string }) => it.type)).toEqual(['ping', 'message'])
  })

  test(`an export of version ${version} is imported by this version`, { tags: 'export-and-import/2' }, async () => {
    mkdirSync(path('imported'), { mode: 0o700 })
    copyFileSync(path('data/keys.json'), path('imported/keys.json'))
    expect(await json('server', 'import', 'export.ndjson', '--data', 'imported')).toMatchObject({ total: 11 })
  })

  const previous = process.env.VOUCHERCTL_PREVIOUS
  test.skipIf(previous === undefined)(
    `VOUCHERCTL_PREVIOUS imports an export of this version with data of ${version}`,
    async () => {
      await run('server', 'stop', '--data', 'data')
      await json('server', 'export', '--data', 'data', '--out', 'today.ndjson')
      mkdirSync(path('previous'), { mode: 0o700 })
      copyFileSync(path('data/keys.json'), path('previous/keys.json'))
      const args = [previous ?? '', 'server', 'import', 'today.ndjson', '--data', 'previous', '--json']
      const imported = execFileSync(process.execPath, args, {
        cwd: home,
        env: built.environment(home),
        encoding: 'utf8',
      })
      expect(JSON.parse(imported).rows).toMatchObject({ vouchers: 3 })
    },
  )
})
