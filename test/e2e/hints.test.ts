import { afterAll, expect, test } from 'vitest'
import { environment, voucherctl } from './installed.js'

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

test('api and secure call name the refused credential', async () => {
  environment.VOUCHERCTL_TOKEN = 'sop_unknown'
  for (const command of ['api', 'secure call']) {
    const { exitCode, stderr } = await run(`${command} GET /api/v1/open-platform/vouchers/templates`)
    expect([exitCode, stderr]).toEqual([
      4,
      expect.stringContaining('credential: application token sop_… from VOUCHERCTL_TOKEN, for http://'),
    ])
  }
  delete environment.VOUCHERCTL_TOKEN
})
