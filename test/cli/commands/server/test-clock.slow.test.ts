import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { defaultSeed } from '../../../../src/testing/options.js'
import { built, firstLine } from '../../../support/cli/built-cli.js'
import { temporaryDir } from '../../../support/cli/cli.js'
import { codeOf } from '../../../support/server/tenant.js'

const VOUCHERS = 2_000

/** Starts the built server on the folder `data` of a home folder. */
async function start(home: string, args: readonly string[]) {
  const line = ['server', 'start', '--data', 'data', '--port', '0', '--json', '--rate-limit', 'off', ...args]
  const child = built.start(line, home)
  onTestFinished(() => void child.kill('SIGKILL'))
  const ready = JSON.parse(await firstLine(child)) as { base_url: string; test_clock?: string }
  const kill = async () => {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  return { ...ready, kill }
}

/** Runs a command that calls a server, and returns its JSON. */
async function call(home: string, baseUrl: string, ...args: readonly string[]) {
  const token = defaultSeed.applications?.[0]?.tokens?.[0]?.token ?? ''
  const env = { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: token }
  const { exit, stdout, stderr } = await built.run([...args, '--json'], home, env)
  expect([args.join(' '), exit, stderr]).toEqual([args.join(' '), 0, expect.not.stringContaining('error')])
  return JSON.parse(stdout)
}

test('a killed server keeps its test clock: vouchers stay valid or expired', async () => {
  const home = temporaryDir()
  const validity = { type: 'relative', duration_days: 10 } as const
  const applications = (defaultSeed.applications ?? []).map((it) => ({
    ...it,
    templates: (it.templates ?? []).map((template) => ({ ...template, validity })),
  }))
  writeFileSync(join(home, 'seed.json'), JSON.stringify({ ...defaultSeed, applications }), { mode: 0o600 })
  const rows = Array.from({ length: VOUCHERS }, (_, n) => `order-${n},user-${n}\n`)
  writeFileSync(join(home, 'in.csv'), `external_issue_id,recipient_user_id\n${rows.join('')}`)

  const first = await start(home, ['--test-clock', '--seed', 'seed.json'])
  expect(first.test_clock).toBeUndefined()
  const issue = ['vouchers', 'issue', '--template', 'tpl_coffee', '--external-id', 'early', '--recipient', 'user-1']
  const early = await call(home, first.base_url, ...issue)
  const { now } = await call(home, first.base_url, 'platform', 'clock', 'advance', '--in', '31d')
  await call(home, first.base_url, 'vouchers', 'issue-many', 'in.csv', '--template', 'tpl_coffee', '--out', 'out.csv')
  await first.kill()

  const refused = built.start(['server', 'start', '--data', 'data', '--port', '0', '--json'], home)
  onTestFinished(() => void refused.kill('SIGKILL'))
  const [stderr, [exit]] = await Promise.all([text(refused.stderr), once(refused, 'close')])
  expect([exit, JSON.parse(stderr).error]).toMatchObject([
    1,
    {
      code: 'STORE_CLOCK_MOVED',
      message: expect.stringContaining('31 days ahead'),
      hint: expect.stringContaining('`voucherctl server start --test-clock --data data`'),
    },
  ])

  const second = await start(home, ['--test-clock'])
  expect(second.test_clock).toBe('31 days ahead')
  const clock = await call(home, second.base_url, 'platform', 'clock', 'show')
  expect(Date.parse(clock.now)).toBeGreaterThanOrEqual(Date.parse(now))
  // --check exits with 6 if a voucher is not redeemable.
  const verify = ['vouchers', 'verify-many', 'out.csv', '--out', 'verified.csv', '--check']
  expect(await call(home, second.base_url, ...verify)).toMatchObject({ verified: VOUCHERS })
  const { value } = codeOf(early)
  const expired = await call(home, second.base_url, 'vouchers', 'verify', '--code', value)
  expect(expired).toMatchObject({ redeemable: false, reason: 'expired' })

  await call(home, second.base_url, 'platform', 'reset', '--yes')
  await second.kill()
  expect((await start(home, [])).test_clock).toBeUndefined()
})
