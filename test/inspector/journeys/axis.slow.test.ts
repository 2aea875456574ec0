import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer, WEBHOOK_SECRET } from '../../support/page/server.js'
import { serial } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

/** Rows of the axis that have a text. */
const rows = (page: TestPage, text: string | RegExp) =>
  page.locator('.timeline').getByRole('listitem').filter({ hasText: text })

const response = (row: Locator, status: string) => row.locator('.receiver').getByText(status, { exact: true })

/** Redeems a voucher whose update the app refuses first, and accepts a minute later. */
async function redeemedAtSecondAttempt(page: TestPage) {
  const { id, credential } = await server.issue()
  await page.goto(`${server.baseUrl}/_platform/ui/vouchers/${id}`)
  await response(rows(page, /^Issued/), '200').waitFor()
  server.app.secret = 'another-secret-of-the-app'
  expect(await server.client.vouchers.redeem({ credential })).toMatchObject({ ok: true })
  await response(rows(page, /^Redeemed/), '401').waitFor()
  server.app.secret = WEBHOOK_SECRET
  await server.client.platform.advanceClock({ seconds: 61 })
  await response(rows(page, /^Update \d+, attempt 2/), '200').waitFor()
  return id
}

test('axis of a voucher shows each call, its update and the response in one row', async () => {
  const page = await openPage(browser, server)
  await redeemedAtSecondAttempt(page)
  const redeemed = rows(page, /^Redeemed/)
  await redeemed.getByText(/^Update \d+ voucher_redeemed$/).waitFor()
  expect(await redeemed.locator('.lane').allTextContents()).toEqual(['call', 'platform', 'receiver'])
  await rows(page, /^Update \d+, attempt 2/)
    .getByText(/\(1 min later\)/)
    .waitFor()
  await checkLook(page, 'axis-voucher')
  await redeemed.getByText('Details of Redeemed').click({ force: true })
  await redeemed.getByRole('link', { name: /^req_/ }).waitFor()
  await redeemed.getByRole('link', { name: /^rdm_/ }).click()
  await page.getByRole('heading', { level: 1, name: 'Voucher', exact: true }).waitFor()
  expect(page.errors).toEqual([])
})

test('axis of a delivery has its call, its attempts, responses and replays in one list', async () => {
  const page = await openPage(browser, server)
  await redeemedAtSecondAttempt(page)
  await rows(page, /^Redeemed/)
    .getByRole('link', { name: /^Update/ })
    .click()
  const first = rows(page, /^vouchers.redeem/)
  await response(first, '401').waitFor()
  await rows(page, /^Update \d+, attempt 2/)
    .getByRole('region', { name: 'Body of the response' })
    .waitFor()
  await page.getByRole('button', { name: 'Edited' }).click()
  const editor = page.getByLabel('Bytes to send')
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Bytes to send')
  await page.getByRole('button', { name: 'Indent the JSON' }).click()
  await page.getByText('Other bytes need a new signature.').waitFor()
  expect(await editor.inputValue()).toMatch(/^\{\n {2}"update_id"/)
  await checkLook(page, 'axis-editor')
  await page.getByRole('button', { name: 'Edited' }).click()
  await page.getByRole('button', { name: 'As sent' }).first().click()
  await page.getByRole('status').getByText('The app accepted it.').waitFor()
  await rows(page, /^Update \d+, replay/)
    .getByRole('region', { name: 'Body of the response' })
    .waitFor()
  await checkLook(page, 'axis-delivery')
  await first.getByRole('link', { name: 'vouchers.redeem' }).click()
  await page.getByRole('heading', { level: 1, name: 'vouchers.redeem' }).waitFor()
  await page
    .getByRole('region', { name: 'Body of the response' })
    .getByRole('link', { name: /^rdm_/ })
    .first()
    .waitFor()
  await checkLook(page, 'axis-request')
  expect(page.errors).toEqual([])
})

test('axis of a chat shows the newest first, and an attempt that is due before all', async () => {
  const page = await openPage(browser, server)
  const user = `user-${serial()}`
  const chat = await server.client.platform.createChat({ bot_id: 'bot_shop', user_id: user })
  if (!chat.ok) throw new Error(chat.code)
  await page.goto(`${server.baseUrl}/_platform/ui/chats/${chat.data.id}`)
  await response(rows(page, 'my_chat_member'), '200').waitFor()
  server.app.secret = 'another-secret-of-the-app'
  await page.getByLabel(`Message as ${user}`).fill('One coffee, please')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const message = rows(page, /^platform.sendAsUser/)
  await message.getByText('unknown signature').waitFor()
  await expect.poll(() => rows(page, '').first().textContent()).toMatch(/^Update \d+, next attempt/)
  await checkLook(page, 'axis-chat')
  server.app.secret = WEBHOOK_SECRET
  expect(page.errors).toEqual([])
})
