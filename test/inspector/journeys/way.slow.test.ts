import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer, WEBHOOK_SECRET } from '../../support/page/server.js'
import { standaloneServer } from '../../support/server/server.js'
import { botBody } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

/** Maximum clicks from an empty server to a redeemed voucher. */
const CLICKS_MAX = 30

/** Counts clicks of the mouse before the page handles them: a click that Enter causes has no detail. */
const countClicks = `globalThis.clicks = 0
addEventListener('click', ({ isTrusted, detail }) => { if (isTrusted && detail > 0) clicks += 1 }, true)`

/** Opens the page of an empty server that may deliver to the receiver of the tests. */
async function openEmpty(): Promise<TestPage> {
  const { port } = new URL(server.app.url)
  const { baseUrl, operatorKey, close } = await standaloneServer({ webhookLoopbackPorts: [Number(port)] })
  onTestFinished(close)
  const page = await openPage(browser, { client: createClient({ baseUrl, token: () => operatorKey }) })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.evaluate(countClicks)
  return page
}

test('page leads from an empty server over a refusal to a redeemed voucher in at most 30 clicks', async () => {
  const page = await openEmpty()
  const shown = page.locator('.current')
  const click = (name: string) => shown.getByRole('button', { name, exact: true }).click()
  const follow = (name: string | RegExp) => shown.getByRole('link', { name }).first().click()

  await click('Plant the example')
  await follow('set its webhook')
  await shown.getByLabel('URL').click()
  await page.keyboard.type(server.app.url)
  await page.keyboard.press('Enter')
  await shown.getByText('The webhook is set').getByRole('button', { name: 'Copy' }).click()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  const [, secret = ''] = /^export VOUCHERCTL_WEBHOOK_SECRET=([0-9a-f]{48})$/.exec(String(copied)) ?? []
  expect(secret).not.toBe('')

  await follow('start a chat')
  await click('Start a chat')
  await click('Issue a voucher …')
  // The form is in sight with its button, and the voucher is what the user of the chat sees.
  await click('Issue a voucher')
  await shown.getByRole('log').getByRole('img', { name: 'QR code' }).waitFor()
  await shown.getByText('unknown signature').waitFor()
  await follow(/^Update \d+ voucher_issued$/)
  await shown.getByText('The app refused it with 401.').waitFor()
  await shown.getByText('Compare the secret of the application with it').waitFor()

  // The user gives the secret to the receiver in an editor.
  server.app.secret = secret
  onTestFinished(() => {
    server.app.secret = WEBHOOK_SECRET
  })
  await click('Retry now')
  await shown.getByText('The app accepted it with 200.').waitFor()
  await shown.getByRole('button', { name: 'Retry now' }).waitFor({ state: 'detached' })
  await follow(/^vch_/)
  await click('Redeem …')
  await click('Redeem')
  await shown.getByText(/^Redeemed as rdm_/).waitFor()
  await shown.getByText('redeemed', { exact: true }).first().waitFor()
  await expect.poll(() => server.app.bodies.map(String).join()).toContain('voucher_redeemed')
  const clicks = Number(await page.evaluate('clicks'))
  expect(clicks).toBeGreaterThan(10)
  expect(clicks).toBeLessThanOrEqual(CLICKS_MAX)
  expect(page.errors).toEqual([])
})

test('chat of a bot without an application says why nothing can be issued, until the bot has one', async () => {
  const { bots, platform, apps } = server.client
  const applied = await bots.apply(botBody({ scopes: ['vouchers:issue'] }))
  const botId = applied.ok ? applied.data.id : ''
  await platform.approveBot({ botId })
  const chat = await platform.createChat({ bot_id: botId, user_id: 'user-of-the-way' })
  const page = await openPage(browser, server, `/chats/${chat.ok && chat.data.id}`)
  await page.getByRole('button', { name: 'Issue a voucher …' }).click()
  await page.getByText('The bot has no application with an active template.').waitFor()
  await apps.linkBot({ appId: 'app_shop', botId })
  const own = page.getByLabel('Own id')
  await own.waitFor()
  await checkLook(page, 'chat-issue')
  await own.press('Enter')
  await page.getByText('The voucher is in the chat.').waitFor()
  await page.getByRole('log').getByRole('link', { name: 'Open the voucher' }).waitFor()
  expect(page.errors).toEqual([])
})
