import { expect, test } from 'vitest'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { openPage } from '../../support/page/open-page.js'
import { newLink, usePageServer } from '../../support/page/server.js'
import { codeOf } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

const ui = (path: string) => `${server.baseUrl}/_platform/ui${path}`

const open = (path = '') => openPage(browser, server, path)

const focusedText = (page: TestPage) => page.evaluate('document.activeElement.textContent')

/** Issues a voucher with an own id. */
async function issueAs(external_issue_id: string, more: object = {}) {
  const order = { template_id: 'tpl_coffee', external_issue_id, recipient_user_id: 'user-1', ...more }
  const issued = await server.client.vouchers.issue(order)
  if (!issued.ok) throw new Error(issued.code)
  return { id: issued.data.id, code: codeOf(issued.data).value }
}

/** Lets the page render what a second of its clock changes, in a browser whose timers the test moves. */
async function openWithClock(path: string): Promise<TestPage> {
  const page = await browser.page()
  await page.clock.install()
  await page.goto(await newLink(server.client))
  await page.getByText('Live', { exact: true }).waitFor()
  await page.goto(ui(path))
  return page
}

test.each(['Template', 'Recipient', 'External id'])(
  'field %s of Vouchers keeps its text while the clock ticks',
  async (name) => {
    const page = await openWithClock('/vouchers')
    const field = page.getByLabel(name, { exact: true })
    await field.focus()
    for (const letter of 'user-1') {
      await page.keyboard.type(letter)
      await page.clock.runFor(1_000)
    }
    expect(await field.inputValue()).toBe('user-1')
    await page.waitForURL(/=user-1/)
  },
)

test('filter of Vouchers applies 200 ms after the last key, and Back leaves the list', async () => {
  const { id } = await server.issue()
  const page = await browser.page()
  await page.clock.install()
  await page.goto(await newLink(server.client))
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Vouchers', exact: true }).click()
  const field = page.getByLabel('Recipient')
  await page.getByRole('link', { name: id }).waitFor()
  await page.clock.pauseAt(Date.now() + 60_000)
  await field.pressSequentially('nobody')
  await page.clock.runFor(199)
  expect(new URL(page.url()).search).toBe('')
  await page.clock.runFor(1)
  expect(new URL(page.url()).search).toBe('?recipient_user_id=nobody')
  await page.clock.resume()
  await page.getByText('0 vouchers').waitFor()
  await field.fill('user-1')
  await page.getByRole('link', { name: id }).first().waitFor()
  await page.goBack()
  await page.waitForURL(ui('/'))
})

test('list of one voucher counts it in the singular', async () => {
  const order = await issueAs('order-of-one')
  const page = await open('/vouchers?external_issue_id=order-of-none')
  await page.getByText('0 vouchers', { exact: true }).waitFor()
  await page.getByLabel('External id').fill('order-of-one')
  await page.getByRole('link', { name: order.id }).waitFor()
  await page.getByText('1 voucher', { exact: true }).waitFor()
})

test('button +31 d of the clock says that the target is in 31 d', async () => {
  const page = await open('/clock')
  await page.getByRole('button', { name: '+31 d' }).click()
  await page.getByText('in 31 d.').waitFor()
})

test('tab of the present view is in sight on a narrow screen', async () => {
  const page = await open()
  await page.setViewportSize({ width: 390, height: 860 })
  await page.goto(ui('/faults'))
  const tab = page.getByRole('link', { name: 'Faults' })
  await tab.waitFor()
  await expect
    .poll(async () => {
      const box = await tab.boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= 390
    })
    .toBe(true)
})

test('tab without a session shows the reason and no empty list beside it', async () => {
  const page = await browser.page()
  await page.goto(ui('/'))
  await page.getByText('This tab has no session').waitFor()
  expect(await page.locator('main').textContent()).toBe('')
})

test('chart of templates has an axis of counts and of times', async () => {
  await server.issue()
  const page = await open('/templates')
  const axes = page.locator('.axis')
  await axes.first().waitFor()
  expect(await axes.first().textContent()).toMatch(/^[1-9]\d*0$/)
  expect(await axes.last().locator('span').allTextContents()).toEqual(
    Array(3).fill(expect.stringMatching(/^\d\d-\d\d \d\d:\d\d$/)),
  )
})

test('names of application and bot stand in the stream, with their ids beside them', async () => {
  const page = await open()
  const { credential } = await server.issue()
  await server.client.vouchers.redeem({ credential })
  await page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).filter({ hasText: 'Shop app_shop' }).waitFor()
  await page
    .getByRole('row')
    .filter({ hasText: 'voucher_redeemed' })
    .filter({ hasText: 'Shop bot bot_shop' })
    .first()
    .waitFor()
})

test('j, k and Enter walk through a list, and j continues at the same row after a return', async () => {
  const [, { id: second }, { id: first }] = [await server.issue(), await server.issue(), await server.issue()] as const
  const page = await open('/vouchers')
  await page.getByRole('link', { name: first }).waitFor()
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key)
  expect(await focusedText(page)).toContain(second)
  await page.keyboard.press('Enter')
  await page.waitForURL(ui(`/vouchers/${second}`))
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: first }).waitFor()
  await page.keyboard.press('j')
  expect(await focusedText(page)).toContain(second)
  expect(page.errors).toEqual([])
})

test('row to which a key moves as soon as it is shown keeps the focus', async () => {
  for (let count = 0; count < 2; count += 1) await server.issue()
  const page = await open()
  await page.getByRole('row').filter({ hasText: 'vouchers.issue' }).first().waitFor()
  await page.evaluate(`new MutationObserver((_, it) => {
    if (!document.querySelector('main table:not(.list table) a')) return
    it.disconnect()
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))
  }).observe(document.querySelector('main'), { childList: true, subtree: true })`)
  await page.getByRole('link', { name: 'Vouchers', exact: true }).click()
  await page.getByRole('columnheader', { name: 'Recipient' }).waitFor()
  expect(await page.evaluate('document.activeElement.matches("td a")')).toBe(true)
})

test('Escape pressed twice at once goes back one place, and does not leave the page', async () => {
  const page = await open('/')
  await page.getByRole('link', { name: 'Vouchers', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Vouchers' }).waitFor()
  await page.evaluate(`for (const key of ['Escape', 'Escape'])
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))`)
  await page.waitForURL(ui('/'))
  await page.goForward()
  await page.waitForURL(ui('/vouchers'))
})

test('link to older vouchers keeps the focus while the next page loads', async () => {
  for (let count = 0; count < 21; count += 1) await server.issue()
  const page = await open('/vouchers')
  const older = page.getByRole('link', { name: 'Older' })
  await older.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Newer' }).waitFor()
  expect(await page.evaluate("document.activeElement.closest('main') !== null")).toBe(true)
  expect(await page.evaluate('document.activeElement.tagName')).toMatch(/^(?:A|H1)$/)
})

test('new row above keeps the focus on its voucher, and a removed row passes it on', async () => {
  const [first] = [await server.issue()]
  const page = await open('/vouchers')
  await page.getByRole('link', { name: first.id }).waitFor()
  await page.keyboard.press('j')
  const { id } = await server.issue()
  await page.getByRole('link', { name: id }).waitFor()
  expect(await focusedText(page)).toContain(first.id)

  for (const endpoint of ['vouchers.verify', 'vouchers.redeem']) {
    const added = await server.client.platform.addFault({ endpoint, kind: 'delay', delay_ms: 1, share: 0.5 })
    if (!added.ok) throw new Error(`${added.code} ${added.message}`)
  }
  await page.goto(ui('/faults'))
  const rows = page.locator('.rows > li')
  await expect.poll(() => rows.count()).toBe(2)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await expect.poll(() => rows.count()).toBe(1)
  await expect.poll(() => page.evaluate("document.activeElement.closest('.rows') !== null")).toBe(true)
  await page.keyboard.press('Enter')
  await page.getByText('No fault is on.').waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
})
