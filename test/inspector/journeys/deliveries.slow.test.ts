import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { Forwarder } from '../../../src/workbench/forwarding.js'
import { emptyResponse } from '../../../src/workbench/listener.js'
import { startListenerPage } from '../../../src/workbench/page-server/server.js'
import { listen } from '../../support/listen.js'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { newLink, usePageServer } from '../../support/page/server.js'
import { deliver, listening, nowSeconds, secret } from '../../support/webhook/listener.js'

const browser = useBrowser()
const server = usePageServer()

async function open(link: string): Promise<TestPage> {
  const page = await browser.page()
  await page.goto(link)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor()
  return page
}

const rows = (page: TestPage) => page.getByRole('row').filter({ hasNotText: 'Attempts' })

test('filters of deliveries by type, bot, update id and state select what they name', async () => {
  const { credential } = await server.issue()
  await server.client.vouchers.redeem({ credential })
  await server.client.platform.addUpdate({ botId: 'bot_shop', type: 'ping' })
  const page = await open(await newLink(server.client))
  await rows(page).filter({ hasText: 'ping' }).waitFor()
  const all = await rows(page).count()
  expect(all).toBeGreaterThan(2)

  await page.getByLabel('Type').selectOption('ping')
  await expect.poll(() => rows(page).count()).toBe(1)
  await page.getByLabel('Type').selectOption('')
  await expect.poll(() => rows(page).count()).toBe(all)

  const text = (await rows(page).filter({ hasText: 'voucher_redeemed' }).getByRole('link').first().textContent()) ?? ''
  const [id = ''] = /\d+$/.exec(text) ?? []
  await page.getByLabel('Update id').pressSequentially(id, { delay: 50 })
  await expect.poll(() => rows(page).count()).toBe(1)
  await rows(page).filter({ hasText: 'voucher_redeemed' }).waitFor()
  expect(await page.getByLabel('Update id').inputValue()).toBe(id)
  await page.getByLabel('Update id').fill('')
  await expect.poll(() => rows(page).count()).toBe(all)

  await page.getByLabel('Bot').selectOption('bot_shop')
  await expect.poll(() => rows(page).count()).toBe(all)
  await page.getByLabel('State').selectOption('dead_letter')
  await page.getByText('No deliveries here.').waitFor()
  await page.waitForURL(({ search }) => search === '?bot_id=bot_shop&status=dead_letter')
  await page.getByLabel('State').selectOption('delivered')
  await expect.poll(() => rows(page).count()).toBe(all)
  await checkLook(page, 'deliveries')
  expect(page.errors).toEqual([])
})

test('page of a listener has the same filters but no bot, and replays a delivery', async () => {
  let replayed = 0
  const app = createServer((_, response) => response.end(String(replayed++)))
  const appUrl = new URL(`http://127.0.0.1:${await listen(app)}/hook`)
  let page: Awaited<ReturnType<typeof startListenerPage>> | undefined
  const listener = await listening({ app: async () => emptyResponse(200), onRequest: (event) => page?.add(event) })
  const { dir, inbox, url: address } = listener
  const forwarder = new Forwarder()
  const now = () => nowSeconds * 1000
  page = await startListenerPage({
    dir,
    inbox,
    address,
    secrets: [secret],
    forwarder,
    now,
    appOf: async () => appUrl,
  })
  onTestFinished(async () => {
    await page?.close()
    forwarder.close()
  })
  for (const update of [7, 8, 9]) await deliver(listener.url, update)
  await fetch(listener.url, { method: 'POST', body: 'forged' })
  const tab = await open(page.newLink())
  await expect.poll(() => rows(tab).count()).toBe(4)
  await tab.getByLabel('Update id').pressSequentially('8', { delay: 50 })
  await expect.poll(() => rows(tab).count()).toBe(1)
  await tab.getByLabel('Update id').fill('')
  await expect.poll(() => rows(tab).count()).toBe(4)
  await tab.getByLabel('State').selectOption('failed')
  await expect.poll(() => rows(tab).count()).toBe(1)
  await tab.getByLabel('State').selectOption('')
  await tab.getByLabel('Type').selectOption('message')
  await expect.poll(() => rows(tab).count()).toBe(3)
  await tab.getByLabel('Type').selectOption('ping')
  await tab.getByText('No deliveries here.').waitFor()
  expect(await tab.getByLabel('Bot').count()).toBe(0)
  await tab.getByLabel('Type').selectOption('')
  await expect.poll(() => rows(tab).count()).toBe(4)
  await checkLook(tab, 'listener')
  await rows(tab).getByRole('link').first().click()
  await tab.getByRole('heading', { name: 'Signature', exact: true }).waitFor()
  await tab.getByRole('button', { name: 'As sent' }).click()
  await tab.getByRole('status').getByText('The app accepted it.').waitFor()
  expect(replayed).toBe(1)
  expect(tab.errors).toEqual([])
})
