import { expect, test } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { defaultSeed } from '../../../src/testing/options.js'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { emptyListenerPage } from '../../support/page/listener-page.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer, WEBHOOK_SECRET } from '../../support/page/server.js'
import { standaloneServer } from '../../support/server/server.js'
import { codeOf } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

const open = (path = '/') => openPage(browser, server, path)

test('bar names what is unusual, leads there, and removes all faults with one click', async () => {
  const page = await open()
  const bar = page.getByRole('complementary', { name: 'Unusual' })
  await page.getByText('Nothing happened yet').or(page.getByRole('row').first()).first().waitFor()
  expect(await bar.count()).toBe(0)
  const { platform } = server.client
  for (const endpoint of ['apps.list', 'apps.get']) await platform.addFault({ endpoint, kind: 'error' })
  await bar.getByRole('link', { name: '2 faults set' }).waitFor()
  await platform.advanceClock({ seconds: 7_300 })
  await bar.getByRole('link', { name: 'Clock 2 h ahead' }).waitFor()
  const lease = { leaseId: 'one', holder: 'a listener of this test', port: 8787, secret_token: WEBHOOK_SECRET }
  expect(await platform.borrowWebhook({ botId: 'bot_shop', ...lease })).toMatchObject({ ok: true })
  await bar.getByText('borrowed by a listener of this test').waitFor()
  await bar.getByRole('link', { name: 'Shop bot' }).waitFor()
  await checkLook(page, 'attention')
  await bar.getByRole('button', { name: 'Remove all faults' }).click()
  await bar.getByRole('link', { name: '2 faults set' }).waitFor({ state: 'hidden' })
  await platform.returnWebhook({ botId: 'bot_shop', leaseId: 'one' })
  await bar.getByText('borrowed by').waitFor({ state: 'hidden' })
  await bar.getByRole('link', { name: 'Clock 2 h ahead' }).click()
  await page.getByRole('heading', { name: 'Clock', exact: true }).waitFor()
  expect(page.errors).toEqual([])
})

test('bar counts deliveries that fail until the app accepts them', async () => {
  server.app.secret = 'another-secret-of-the-app'
  const page = await open()
  await server.issue()
  const failing = page.getByRole('complementary', { name: 'Unusual' }).getByRole('link', { name: '1 delivery failing' })
  await failing.click()
  await page.waitForURL(/\/deliveries\?status=failed$/)
  server.app.secret = WEBHOOK_SECRET
  await server.client.platform.advanceClock({ seconds: 86_400 })
  await failing.waitFor({ state: 'hidden' })
  expect(page.errors).toEqual([])
})

test('page of a listener has no bar', async () => {
  const listener = await emptyListenerPage()
  const page = await browser.page()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(listener.newLink())
  await page.getByText('Nothing happened yet').waitFor()
  expect(asked.filter((it) => it.endsWith('/overview'))).toEqual([])
  await listener.close()
})

test('errors count 100 failed of 4,000 calls, and all of them are in the stream', async () => {
  const own = await standaloneServer({ seed: defaultSeed })
  const { baseUrl, operatorKey } = own
  const client = createClient({ baseUrl, token: (kind) => (kind === 'operator' ? operatorKey : server.token) })
  const order = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
  const issued = await client.vouchers.issue(order)
  if (!issued.ok) throw new Error(issued.code)
  const credential = codeOf(issued.data)
  await client.vouchers.redeem({ credential })
  const page = await openPage(browser, { client }, '/errors')
  await page.getByText('Nothing failed.').waitFor()
  for (let call = 0; call < 4_000; call += 40) {
    const verified = Array.from({ length: 39 }, () => client.vouchers.verify({ credential }))
    await Promise.all([...verified, client.vouchers.redeem({ credential })])
  }
  const group = page.getByRole('region', { name: 'VOUCHER_ALREADY_REDEEMED' })
  await group.getByText('100 ×', { exact: true }).waitFor()
  await group.getByText('The stream has').waitFor({ state: 'hidden' })
  await page
    .getByRole('link', { name: /^Errors/ })
    .getByText('100')
    .waitFor()
  await page.reload()
  await group.getByText('100 ×', { exact: true }).waitFor()
  await group.getByText('All in the stream').waitFor({ state: 'attached' })
  await group.getByText('The stream has').waitFor({ state: 'hidden' })
  await page.getByText(/Calls are counted since .*, when the server started/).waitFor()
  expect(page.errors).toEqual([])
  await own.close()
})

test('request is shown after a reload, which never says that the log has it no more', async () => {
  for (let call = 0; call < 1_000; call += 1) await server.client.apps.list({})
  const { credential } = await server.issue()
  await server.client.vouchers.verify({ credential })
  const page = await open()
  await page.getByRole('row').filter({ hasText: 'vouchers.verify' }).first().getByRole('link').click()
  const heading = page.getByRole('heading', { name: 'vouchers.verify', exact: true })
  await heading.waitFor()
  await page.addInitScript(`globalThis.gone = false
    new MutationObserver(() => {
      gone ||= document.body?.textContent.includes('any more') ?? false
    }).observe(document, { childList: true, subtree: true, characterData: true })`)
  await page.reload()
  await heading.waitFor()
  expect(await page.evaluate('gone')).toBe(false)
  await page.goto(page.url().replace(/req_\w+$/, 'req_none'))
  await page.getByText('The log has no request req_none any more.').waitFor()
  expect(await page.evaluate('gone')).toBe(true)
})

test('example stays after a restore that has it, goes with a reset, and closes in each state', async () => {
  const empty = await standaloneServer({})
  const { baseUrl, operatorKey } = empty
  const tokens: Record<string, string> = { operator: operatorKey }
  const client = createClient({ baseUrl, token: (kind) => tokens[kind] })
  const page = await openPage(browser, { client })
  const plant = page.getByRole('button', { name: 'Plant the example' })
  const close = page.getByRole('region', { name: 'Example' }).getByRole('button', { name: 'Close' })
  const planted = page.getByText('they are shown only once')
  await client.platform.saveSnapshot({ name: 'empty' })
  await plant.click()
  await planted.waitFor()
  tokens.token = (await page.getByText(/^export VOUCHERCTL_TOKEN=/).textContent())?.split('=')[1] ?? ''
  await client.platform.saveSnapshot({ name: 'planted' })
  await client.templates.list({})
  await client.platform.restoreSnapshot({ name: 'planted' })
  await page.getByText('A snapshot was restored.').waitFor()
  expect(await client.templates.list({})).toMatchObject({ ok: true })
  await page.getByRole('row').filter({ hasText: 'templates.list' }).waitFor()
  expect([await planted.count(), await plant.count()]).toEqual([1, 0])
  await close.click()
  await planted.waitFor({ state: 'hidden' })

  await client.platform.restoreSnapshot({ name: 'empty' })
  await plant.waitFor()
  await close.click()
  await plant.waitFor({ state: 'hidden' })
  await client.platform.reset({})
  await plant.waitFor()
  await client.platform.restoreSnapshot({ name: 'planted' })
  await plant.waitFor({ state: 'hidden' })
  expect(page.errors).toEqual([])
  await empty.close()
})
