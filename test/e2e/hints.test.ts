// Hints for refused tokens, and for files without codes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { home, voucherctl } from './installed.js'

const profile = ['-p', 'e2e-hints']
const run = (line: string) => voucherctl(...line.split(' '), ...profile)
afterAll(() => run('server stop'))

test('hints add a missing scope to a token, and enable a disabled application, when run', async () => {
  await run('server start --detach --json')
  await run('login --local --account demo')
  const app = (await run('apps create --name Shop -q')).stdout
  await run(`tokens create --app ${app} --scope vouchers:read --scope vouchers:verify --save`)

  const verify = 'vouchers redeem M9S3-46Q3-D25V-T4FJ'
  const refused = await run(verify)
  expect([refused.exitCode, refused.stderr]).toEqual([4, expect.stringContaining('(INSUFFICIENT_SCOPE)')])
  const [, create = ''] = /`voucherctl (tokens create [^`]+)`/.exec(refused.stderr) ?? []
  expect(create).toContain(`--app ${app} --scope vouchers:read --scope vouchers:verify --scope vouchers:redeem --save`)
  expect((await voucherctl(...create.split(' '), '--yes')).exitCode).toBe(0)
  expect((await run(verify)).stderr).toContain('(VOUCHER_NOT_FOUND)')

  await run(`apps update ${app} --status disabled`)
  const disabled = (await run('templates list')).stderr
  const [, enable = ''] = /`voucherctl (apps update [^`]+)`/.exec(disabled) ?? []
  expect(enable).toContain(app)
  expect((await voucherctl(...enable.split(' '))).exitCode).toBe(0)
  expect((await run('templates list')).exitCode).toBe(0)
})

test('redeem-many calls a file without codes that, and says 1,000 equal mistakes in one line', async () => {
  const redeem = async (content: string) => {
    const path = join(home, 'codes.csv')
    writeFileSync(path, content)
    return (await run(`vouchers redeem-many ${path} --out ${join(home, 'out.csv')}`)).stderr
  }
  expect(await redeem('external_issue_id,recipient_user_id\na,b\n')).toContain('has no codes')
  expect(await redeem('redeem_code,email\nA,b\n')).toContain('redeem_code or qr_token; optional: external_issue_id')
  expect((await redeem(`qr_token\nA\n${'a,b\n'.repeat(1000)}`)).match(/^ {2}.*$/gm)).toEqual([
    '  line 3 and 999 more: has 2 values where the header has 1',
  ])
})

test('sheet --open without a terminal prints the path of the sheet', async () => {
  const [codes, sheet] = [join(home, 'sheet.csv'), join(home, 'sheet.html')]
  writeFileSync(codes, 'qr_token\nVQ1-1\n')
  const { exitCode, stderr } = await voucherctl('vouchers', 'sheet', codes, '--out', sheet, '--open')
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining(sheet)])
})
