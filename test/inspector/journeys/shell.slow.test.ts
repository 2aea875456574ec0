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

test.each([640, 1099])('menu of a window of %i px has every view, and closes after a choice', async (width) => {
  const page = await open()
  await page.setViewportSize({ width, height: 860 })
  const menu = page.getByRole('navigation', { name: 'Views' })
  await menu.getByRole('button', { name: 'Stream' }).click()
  expect(await menu.getByRole('link').count()).toBe(11)
  await menu.getByRole('link', { name: 'API' }).click()
  await page.getByRole('heading', { level: 1, name: 'API' }).waitFor()
  await menu.getByRole('link', { name: 'API' }).waitFor({ state: 'hidden' })
  await menu.getByRole('button', { name: 'API' }).waitFor()
})

test('side bar of a wide window shows every view without a menu', async () => {
  const page = await open()
  await page.setViewportSize({ width: 1100, height: 800 })
  const bar = page.getByRole('navigation', { name: 'Views' })
  for (const link of await bar.getByRole('link').all()) expect(await link.isVisible()).toBe(true)
  expect(await bar.getByRole('button').count()).toBe(0)
})

test('detail stands beside its list, which keeps its filter, scroll position and selection', async () => {
  for (let count = 0; count < 25; count += 1) await server.issue()
  const page = await open('/vouchers?recipient_user_id=user-1')
  const links = page.getByRole('table', { name: 'vouchers' }).getByRole('link')
  await links.nth(19).waitFor()
  await links.nth(14).scrollIntoViewIfNeeded()
  // The browser keeps the row where it was, but for a pixel or two.
  const top = async () => Math.round(((await links.nth(14).boundingBox())?.y ?? 0) / 4)
  const before = await top()
  await links.nth(14).click()
  await page.getByRole('heading', { level: 1, name: 'Voucher', exact: true }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  expect(await top()).toBe(before)
  await page.keyboard.press('j')
  const next = await links.nth(15).getAttribute('href')
  await page.waitForURL(`${server.baseUrl}${next}`)
  expect(await page.getByLabel('Recipient').inputValue()).toBe('user-1')
  expect(await top()).toBe(before)
  await page.getByRole('link', { name: '← Vouchers' }).click()
  await page.waitForURL(ui('/vouchers?recipient_user_id=user-1'))
  expect(await page.getByRole('heading', { level: 1, name: 'Voucher', exact: true }).count()).toBe(0)
})

test('Back finds typed text, open parts and the scroll position, and a new visit begins anew', async () => {
  const page = await open('/faults')
  await page.getByText('More: delay, path').click()
  await page.getByLabel('Only this path').fill('/api/v1/*')
  await page.getByRole('link', { name: 'API', exact: true }).click()
  await page.getByText('/vouchers/redeem', { exact: false }).first().click()
  const place = () => page.evaluate("document.querySelector('.pane').scrollTop")
  await page.evaluate("document.querySelector('.pane').scrollTo(0, 300)")
  const before = await place()
  await page.getByRole('link', { name: 'Faults' }).click()
  expect(await page.getByLabel('Only this path').inputValue()).toBe('')
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'API' }).waitFor()
  expect(await place()).toBe(before)
  await page.goBack()
  expect(await page.getByLabel('Only this path').inputValue()).toBe('/api/v1/*')
  await page.getByLabel('Only this path').waitFor()
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
    Array(3).fill(expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/)),
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

test('j, k and Enter walk through a list, and Escape returns to the row that was open', async () => {
  const [, { id: second }, { id: first }] = [await server.issue(), await server.issue(), await server.issue()] as const
  const page = await open('/vouchers')
  await page.getByRole('link', { name: first }).waitFor()
  for (const key of ['j', 'j', 'j', 'k']) await page.keyboard.press(key)
  expect(await focusedText(page)).toContain(second)
  await page.keyboard.press('Enter')
  await page.waitForURL(ui(`/vouchers/${second}`))
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: first }).waitFor()
  expect(await focusedText(page)).toContain(second)
  await page.keyboard.press('k')
  expect(await focusedText(page)).toContain(first)
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

test('link to the next page of vouchers keeps the focus while the page loads', async () => {
  for (let count = 0; count < 101; count += 1) await server.issue()
  const page = await open('/vouchers')
  const next = page.getByRole('link', { name: 'Next' })
  await next.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Previous' }).waitFor()
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
