import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../support/listen.js'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { emptyListenerPage } from '../../support/page/listener-page.js'
import { openPage } from '../../support/page/open-page.js'
import { newLink, usePageServer } from '../../support/page/server.js'
import { codeOf } from '../../support/server/tenant.js'
import { exchangeOf, requestLine } from '../page/model/activity-samples.js'

const browser = useBrowser()
const server = usePageServer()

const ui = (path: string) => `${server.baseUrl}/_platform/ui${path}`
const open = (path = '') => openPage(browser, server, path)
const field = (page: TestPage) => page.getByRole('combobox', { name: 'Find' })
const options = (page: TestPage) => page.getByRole('listbox', { name: 'Found' }).getByRole('option')

/** Opens the palette by a key and types a text, without waiting for what it finds. */
async function type(page: TestPage, text: string, key = 'Control+k') {
  await page.keyboard.press(key)
  await field(page).waitFor()
  await page.keyboard.type(text)
}

test('palette opens the voucher of a code, an id and an own id on Enter, before it lists them', async () => {
  const order = { template_id: 'tpl_coffee', external_issue_id: 'order-to-find', recipient_user_id: 'user-1' }
  const issued = await server.client.vouchers.issue(order)
  if (!issued.ok) throw new Error(issued.code)
  const page = await open('/clock')
  const requested: string[] = []
  page.on('request', (it) => requested.push(it.url()))
  for (const [text, key] of [
    [codeOf(issued.data).value, 'Control+k'],
    [issued.data.id, 'Meta+k'],
    ['order-to-find', '/'],
  ] as const) {
    await type(page, text, key)
    await page.keyboard.press('Enter')
    await page.waitForURL(ui(`/vouchers/${issued.data.id}`))
    await page.goto(ui('/faults'))
    await page.getByRole('heading', { name: 'Faults', exact: true }).waitFor()
  }
  expect(requested.filter((it) => it.includes(codeOf(issued.data).value))).toEqual([])
  expect(page.errors).toEqual([])
})

test('palette lists the records and calls of a text, and arrow keys choose one', async () => {
  for (let count = 0; count < 2; count += 1) await server.issue()
  const page = await open()
  await page.getByRole('row').filter({ hasText: 'vouchers.issue' }).first().waitFor()
  await type(page, 'user-1')
  await expect.poll(() => options(page).filter({ hasText: 'voucher' }).count()).toBeGreaterThan(1)
  await checkLook(page, 'palette')
  const second = await options(page).nth(1).getAttribute('id')
  await page.keyboard.press('ArrowDown')
  expect(await field(page).getAttribute('aria-activedescendant')).toBe(second)
  expect(await options(page).nth(1).getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  const last = (await options(page).count()) - 1
  expect(await options(page).nth(last).getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Voucher', exact: true }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
  expect(page.errors).toEqual([])
})

test('palette opens the only call whose body has a word', async () => {
  // A busy server captures no bodies, so the test is the server of the stream.
  const lines = ['Marzipan', 'Nougat'].map((note, index) => {
    const { request } = exchangeOf(JSON.stringify({ note }))
    return JSON.stringify(requestLine({ request_id: `req_${index}` }, { request, response: null }))
  })
  const feed = await listen(createServer((_, response) => void response.writeHead(200).write(`${lines.join('\n')}\n`)))
  const page = await browser.page()
  await page.route('**/_platform/v1/activity*', (route) => route.continue({ url: `http://127.0.0.1:${feed}/` }))
  await page.goto(await newLink(server.client))
  await page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).first().waitFor()
  await type(page, 'marzipan')
  await page.keyboard.press('Enter')
  await page.waitForURL(ui('/requests/req_0'))
  await page.getByText('Marzipan').first().waitFor()
})

test('palette finds views and actions by name, and does what needs no input', async () => {
  const page = await open()
  const added = await server.client.platform.addFault({ endpoint: 'vouchers.verify', kind: 'delay', delay_ms: 1 })
  if (!added.ok) throw new Error(added.code)
  for (const [text, path] of [
    ['Reviews', '/reviews'],
    ['Save a snapshot', '/state'],
    ['advance clock', '/clock'],
    ['plant the example', '/'],
    ['send vouchers.redeem', '/reference?find=vouchers.redeem'],
    ['record a scenario', '/'],
  ] as const) {
    await type(page, text)
    await options(page).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(ui(path))
  }
  await page.getByRole('region', { name: 'Scenario' }).waitFor()
  await type(page, 'clear all faults')
  await page.getByRole('option', { name: 'platform.clearFaults' }).click()
  await page.getByText('Remove all faults: done.').waitFor()
  const faults = await server.client.platform.faults({})
  expect(faults).toMatchObject({ data: { items: [] } })
  expect(page.errors).toEqual([])
})

test('Escape closes the palette, returns the focus and stays in the view', async () => {
  const page = await open('/vouchers')
  await page.getByRole('heading', { level: 1, name: 'Vouchers' }).waitFor()
  const recipient = page.getByLabel('Recipient')
  await recipient.focus()
  // A slash belongs to the text of a field.
  await page.keyboard.type('/')
  expect([await field(page).count(), await recipient.inputValue()]).toEqual([0, '/'])
  await type(page, 'nothing-has-this-text')
  await page.getByText('Nothing has this text.').waitFor()
  await page.keyboard.press('Escape')
  await field(page).waitFor({ state: 'hidden' })
  expect(await page.evaluate('document.activeElement.id')).toBe('filter-recipient_user_id')
  await page.getByRole('button', { name: 'Find' }).click()
  await field(page).waitFor()
  expect(await field(page).inputValue()).toBe('')
  await page.keyboard.press('Escape')
  await field(page).waitFor({ state: 'hidden' })
  expect(new URL(page.url()).pathname).toBe('/_platform/ui/vouchers')
  expect(page.errors).toEqual([])
})

test('palette on the page of a listener has its views, and neither records nor actions', async () => {
  const listener = await emptyListenerPage()
  onTestFinished(() => listener.close())
  const page = await browser.page()
  await page.goto(listener.newLink())
  await page.getByText('Live', { exact: true }).waitFor()
  await page.keyboard.press('/')
  await field(page).waitFor()
  expect(await options(page).allTextContents()).toEqual(['Stream View', 'Deliveries View'])
  await page.keyboard.type('marzipan')
  await page.getByText('Nothing has this text.').waitFor()
  expect(page.errors).toEqual([])
})
