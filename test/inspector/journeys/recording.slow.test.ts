import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unwrap } from '../../../src/client/result.js'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer } from '../../support/page/server.js'
import { runTest } from '../../support/recorder/run-test.js'

const browser = useBrowser()
const server = usePageServer()

test('chosen rows of the stream become a scenario, which passes on an empty server', async () => {
  const page = await openPage(browser, server)
  const { credential } = await server.issue()
  await server.client.vouchers.redeem({ credential, reference: 'chosen' })
  await server.client.vouchers.verify({ credential })
  await page.getByRole('button', { name: 'Record a scenario …' }).click()
  const form = page.getByRole('region', { name: 'Scenario' })
  expect(await form.getByRole('button', { name: 'Make the scenario' }).isDisabled()).toBe(true)
  await page.getByRole('checkbox', { name: /^vouchers\.redeem at / }).check()
  await form.getByText('1 chosen.').waitFor()
  await form.getByRole('button', { name: 'Make the scenario' }).click()
  const content = form.getByRole('region', { name: 'Content of recorded.yaml' })
  const text = (await content.textContent()) ?? ''
  expect(text).toContain('reference: chosen')
  expect(text).not.toContain('vouchers.verify')
  expect(text).not.toContain(credential.value)
  await checkLook(page, 'recording')
  await page.getByRole('checkbox', { name: /^vouchers\.verify at / }).waitFor()
  await form.getByRole('button', { name: 'Choose all shown' }).click()
  await content.waitFor({ state: 'detached' })
  await form.getByRole('button', { name: 'Make the scenario' }).click()
  const link = form.getByRole('link', { name: 'Save recorded.yaml' })
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  const saved = readFileSync(await download.path(), 'utf8')
  expect(saved).toContain('vouchers.verify')
  const cwd = temporaryDir()
  writeFileSync(join(cwd, 'one.yaml'), text)
  writeFileSync(join(cwd, 'all.yaml'), saved)
  expect(text).toMatch(/^# Runs on its own new server: voucherctl scenario run FILE\./)
  // The server of the environment gets no call.
  const total = async () => unwrap(await server.client.platform.vouchers()).pagination.total
  const before = await total()
  const env = { ...server.env, VOUCHERCTL_PROFILE: 'missing' }
  for (const it of [{}, server.env, env])
    expect((await cli('scenario run one.yaml all.yaml', { cwd, env: it })).stdout).toContain('2 passed')
  expect(await total()).toBe(before)
  await form.getByRole('button', { name: 'Close' }).click()
  await expect.poll(() => page.getByRole('checkbox').count()).toBe(0)
  expect(page.errors).toEqual([])
})

test('call of the log is copied as a test, which passes on its own server', async () => {
  const { credential } = await server.issue()
  await server.client.vouchers.redeem({ credential })
  const refused = await server.client.vouchers.redeem({ credential })
  const page = await openPage(browser, server, `/requests/${refused.requestId}`)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'as test' }).click()
  await page.getByText('Copied.').waitFor()
  const text = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(text).toContain("test('vouchers.redeem responds with VOUCHER_ALREADY_REDEEMED'")
  expect(await runTest(text)).toMatchObject({ exitCode: 0 })
  expect(page.errors).toEqual([])
})
