import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../../src/contract/index.js'
import { built, firstLine } from '../../../support/cli/built-cli.js'
import { sendTo } from '../../../support/server/client.js'
import { newReceiver } from '../../../support/server/deliveries.js'
import { parseExposition, valueOf } from '../../../support/server/exposition.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { codeOf, newTenant } from '../../../support/server/tenant.js'

it('built server shows valid metrics of redemptions, deliveries, commits and its build', async () => {
  const home = temporaryFolder()
  const receiver = await newReceiver()
  const loopback = ['--dev-webhook-loopback', String(receiver.port)]
  const child = built.start(['server', 'start', '--data', 'data', '--port', '0', '--json', ...loopback], home)
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await once(child, 'close')
    rmSync(home, { recursive: true, force: true })
  })
  const { base_url: baseUrl, operator_key_file: keyFile } = JSON.parse(await firstLine(child))
  const agent = new http.Agent()
  const send = sendTo(baseUrl, agent)
  const tenant = await newTenant({ send, operatorKey: readFileSync(keyFile, 'utf8').trim() })
  const voucher = await tenant.issue()
  for (const key of ['K', 'K', 'other']) {
    await tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key })
  }
  const { id: botId } = await tenant.bot()
  await tenant.console(contract.webhook.set, { botId, url: receiver.url })
  await tenant.operator(contract.platform.addUpdate, { botId, type: 'ping' })
  const scrape = async () => parseExposition((await send({ method: 'GET', path: '/metrics' })).text)
  const attempts = { result: 'delivered' }
  await expect.poll(async () => valueOf(await scrape(), 'voucherctl_delivery_attempts_total', attempts)).toBe(1)
  const families = await scrape()
  expect(families.length).toBeLessThanOrEqual(40)
  expect(families.filter(({ name }) => name.startsWith('voucherctl_')).map(({ name, type }) => [name, type])).toEqual([
    ['voucherctl_build_info', 'gauge'],
    ['voucherctl_http_requests_total', 'counter'],
    ['voucherctl_http_request_duration_seconds', 'histogram'],
    ['voucherctl_redemptions_total', 'counter'],
    ['voucherctl_redemption_refusals_total', 'counter'],
    ['voucherctl_delivery_attempts_total', 'counter'],
    ['voucherctl_commit_duration_seconds', 'histogram'],
    ['voucherctl_store_up', 'gauge'],
    ['voucherctl_deliveries', 'gauge'],
    ['voucherctl_delivery_backlog_age_seconds', 'gauge'],
    ['voucherctl_secure_sessions', 'gauge'],
  ])
  const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'))
  expect(valueOf(families, 'voucherctl_build_info', { version, store: 'sqlite' })).toBe(1)
  expect(valueOf(families, 'voucherctl_redemptions_total')).toBe(1)
  const refused = { code: 'VOUCHER_ALREADY_REDEEMED' }
  expect(valueOf(families, 'voucherctl_redemption_refusals_total', refused)).toBe(1)
  expect(valueOf(families, 'voucherctl_commit_duration_seconds_count')).toBeGreaterThan(5)
})
