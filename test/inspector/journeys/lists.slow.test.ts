import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { scopes } from '../../../src/contract/endpoint.js'
import { makeToken } from '../../../src/domain/tokens.js'
import { cliServer } from '../../support/cli/server.js'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer } from '../../support/page/server.js'

/** Folder for pictures of every view, for people to look at. */
const { VOUCHERCTL_SCREENSHOTS: pictures } = process.env

const browser = useBrowser()
const server = usePageServer()

const ui = (path: string) => `${server.baseUrl}/_platform/ui${path}`

const open = (path = '') => openPage(browser, server, path)

const issueTo = (recipient_user_id: string, external_issue_id: string) =>
  server.client.vouchers.issue({ template_id: 'tpl_coffee', external_issue_id, recipient_user_id })

const long = (start: string, length: number) => start.padEnd(length, 'Wm0123456789')

/** Names without a space, and names that are written from right to left or with emoji, as long as the contract allows. */
const LATIN = long('Coffee', 100)
const MIXED = 'קפהخصم👩‍👩‍👧‍👦🏳️‍🌈'.repeat(5).slice(0, 98)

const templateOf = (id: string, name: string, issue_limit: number) => ({
  ...{ id: `tpl_${id}`, name, issue_limit, status: 'active' as const, external_template_id: long(id, 64) },
  ...{ issuer_name: LATIN, fulfiller_name: MIXED, description: long('d', 500), type: `w${'x'.repeat(63)}` },
  ...{ fulfillment_category: 'offline_service' as const, acquisition_source: `w${'x'.repeat(63)}` },
  validity: { type: 'relative' as const, duration_days: 30 },
})

const appId = long('app_', 44)
const longSeed = {
  account: 'a'.repeat(64),
  applications: [
    {
      ...{ id: appId, name: LATIN, description: MIXED },
      tokens: [{ id: 'tok_1', token: makeToken('sop_', randomBytes), name: LATIN, scopes: [...scopes] }],
      templates: [
        templateOf(long('', 40), LATIN, 1),
        templateOf('mixed', MIXED, 100),
        { ...templateOf('waiting', MIXED, 5), status: 'reviewing' as const },
      ],
      vouchers: ['tpl_mixed', long('tpl_', 44)].map((template_id, at) => ({
        ...{ template_id, external_issue_id: long(`order${at}`, 128), recipient_user_id: long(`user${at}`, 128) },
      })),
    },
  ],
  bots: [
    {
      ...{ id: long('bot_', 44), name: MIXED, username: 'b'.repeat(64), application_id: appId },
      ...{ review_status: 'approved' as const },
    },
    { id: 'bot_waiting', name: LATIN, username: 'w'.repeat(64), review_status: 'pending' as const },
  ],
}

/** Elements whose text is cut with no way to read it, and panes and a document that are wider than their place. */
const CUT = `(() => {
  const cut = [...document.querySelectorAll('body *')].filter((it) => {
    const { overflowX, display, clipPath } = getComputedStyle(it)
    if (it.clientWidth === 0 || display === 'inline' || clipPath !== 'none') return false
    if (it.matches('input, select, textarea, option')) return false
    const isPane = it.matches('.pane, main, nav, body')
    if (it.scrollWidth <= it.clientWidth + 1) return false
    return isPane || (overflowX !== 'auto' && overflowX !== 'scroll' && overflowX !== 'visible' && !it.closest('[title]'))
  })
  return [...cut.map((it) => it.outerHTML.slice(0, 200)), document.documentElement.scrollWidth - innerWidth]
})()`

/** Texts of a column of the shown list. */
const column = (page: TestPage, at: number) => page.locator(`tbody tr > td:nth-child(${at})`).allTextContents()

const rowOf = (page: TestPage, name: string | RegExp) => page.getByRole('row').filter({ hasText: name })

/** Path of the open detail. */
const pathOf = (page: TestPage) => new URL(page.url()).pathname.replace('/_platform/ui', '')

test('heads of columns sort vouchers in both directions, and the address keeps the order', async () => {
  const orders = [
    ['zoe', 'order-b'],
    ['adam', 'order-c'],
    ['mia', 'order-a'],
  ] as const
  for (const [user, order] of orders) await issueTo(user, order)
  const page = await open('/vouchers')
  const head = (name: string) => page.getByRole('columnheader', { name })
  const sorted = (name: string) => head(name).getAttribute('aria-sort')
  await expect.poll(() => column(page, 3)).toEqual(['mia', 'adam', 'zoe'])
  expect([await sorted('Issued'), await sorted('Recipient')]).toEqual(['descending', null])
  await head('Recipient').getByRole('button').click()
  await expect.poll(() => column(page, 3)).toEqual(['adam', 'mia', 'zoe'])
  expect([await sorted('Issued'), await sorted('Recipient')]).toEqual([null, 'ascending'])
  await page.keyboard.press('Enter')
  await expect.poll(() => column(page, 3)).toEqual(['zoe', 'mia', 'adam'])
  expect(await sorted('Recipient')).toBe('descending')
  await page.reload()
  await expect.poll(() => column(page, 3)).toEqual(['zoe', 'mia', 'adam'])
  await head('External id').getByRole('button').click()
  await expect.poll(() => column(page, 4)).toEqual(['order-a', 'order-b', 'order-c'])
  await head('Issued').getByRole('button').click()
  await expect.poll(() => column(page, 3)).toEqual(['mia', 'adam', 'zoe'])
  await head('Issued').getByRole('button').click()
  await expect.poll(() => column(page, 3)).toEqual(['zoe', 'adam', 'mia'])
  expect(new URL(page.url()).search).toBe('?sort=issued_at')
  await page.goto(ui('/templates'))
  await head('External id').getByRole('button').click()
  await expect.poll(() => sorted('External id')).toBe('ascending')
  await page.goto(ui('/deliveries'))
  await head('Bot').getByRole('button').click()
  await expect.poll(() => sorted('Bot')).toBe('ascending')
  await checkLook(page, 'sorted')
  expect(page.errors).toEqual([])
})

test('a text in a filter that has the focus stays in its list after a step back', async () => {
  const page = await open('/vouchers')
  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByLabel('Update id').pressSequentially('12')
  await page.goBack()
  await page.getByRole('heading', { level: 1, name: 'Vouchers' }).waitFor()
  // Longer than the wait for the last key.
  await page.waitForTimeout(400)
  expect(page.url()).toBe(ui('/vouchers'))
  await page.goForward()
  expect(await page.getByLabel('Update id').inputValue()).toBe('12')
})

test('keys j and k open the detail of each row beside the list, and a held key reads few details', async () => {
  for (let order = 0; order < 12; order += 1) await issueTo('user-of-keys', `key-${order}`)
  const page = await open('/vouchers?recipient_user_id=user-of-keys&sort=external_issue_id')
  const read: string[] = []
  page.on('request', (it) => /vouchers\/vch_/.test(it.url()) && read.push(it.url()))
  const links = page.locator('tbody tr:visible').getByRole('link')
  await expect.poll(() => links.count()).toBe(12)
  const paths = await Promise.all((await links.all()).map((it) => it.getAttribute('href')))
  const detail = (at: number) => expect.poll(() => `/_platform/ui${pathOf(page)}`).toBe(paths[at])
  await links.first().click()
  await detail(0)
  await page.getByRole('heading', { name: 'Voucher', exact: true }).waitFor()
  const steps = await page.evaluate('history.length')
  const list = page.locator('.pane').first()
  await page.keyboard.press('j')
  await detail(1)
  await expect.poll(() => list.locator('tr[aria-current]').count()).toBe(1)
  expect(await list.locator('tr[aria-current]').getByRole('link').getAttribute('href')).toBe(paths[1])
  await page.keyboard.press('k')
  await detail(0)
  read.length = 0
  // A held key repeats about every 30 ms.
  await page.evaluate(`(async () => {
    for (let step = 0; step < 9; step++) {
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()`)
  await detail(9)
  await page
    .locator('dd')
    .getByText(paths[9]?.split('/').at(-1) ?? '')
    .first()
    .waitFor()
  expect(read.length).toBeLessThan(5)
  expect(await page.evaluate('history.length')).toBe(steps)
  await page.keyboard.press('Escape')
  await page.waitForURL(ui('/vouchers?recipient_user_id=user-of-keys&sort=external_issue_id'))
  expect(page.errors).toEqual([])
})

test('open line of the stream keeps its place while newer lines arrive, and keys move from it', async () => {
  let newest = ''
  for (let order = 0; order < 50; order += 1) {
    const issued = await issueTo('user-of-stream', `stream-${order}`)
    if (!issued.ok) throw new Error(issued.code)
    newest = issued.data.id
    // The activity leaves out calls of a burst.
    await wait(60)
  }
  const page = await open('/?type=vouchers.issue')
  const list = page.locator('.list')
  // The newest line arrives last: the list then has its height, and no row moves while it is clicked.
  await rowOf(page, newest).waitFor()
  await expect.poll(() => list.getByRole('link').count()).toBeGreaterThan(10)
  // Rows of a narrow list are higher than those of a wide one.
  await page.evaluate("document.querySelector('.list').scrollTo(0, 600)")
  await expect.poll(() => list.locator('tr.entry').first().getAttribute('aria-rowindex')).not.toBe('2')
  const box = await list.boundingBox()
  if (box === null) throw new Error('The stream is not shown.')
  await page.mouse.click(box.x + 200, box.y + box.height - 60)
  await page.waitForURL(/requests/)
  const opened = pathOf(page)
  const current = list.locator('tr[aria-current]')
  await expect.poll(() => current.count()).toBe(1)
  await expect.poll(async () => (await current.boundingBox())?.height).toBe(48)
  const row = await current.boundingBox()
  expect(row?.y).toBeGreaterThan(box.y)
  expect((row?.y ?? 0) + 48).toBeLessThan(box.y + box.height + 1)
  await expect.poll(() => page.evaluate("document.querySelector('.list').scrollTop")).toBeGreaterThan(600)
  const before = await current.boundingBox()
  for (let order = 0; order < 5; order += 1) await issueTo('user-of-stream', `late-${order}`)
  await expect.poll(async () => (await current.boundingBox())?.y).toBe(before?.y)
  await page.keyboard.press('j')
  await expect.poll(() => pathOf(page)).not.toBe(opened)
  await expect.poll(() => current.count()).toBe(1)
  await page.keyboard.press('k')
  await expect.poll(() => pathOf(page)).toBe(opened)
  expect(page.errors).toEqual([])
})

test('open call of an error is marked in its group beside the detail', async () => {
  const order = { external_issue_id: 'order-of-error', recipient_user_id: 'user-1' }
  await server.client.vouchers.issue({ template_id: 'tpl_unknown', ...order })
  const page = await open('/errors')
  const row = page.getByRole('region', { name: 'TEMPLATE_NOT_FOUND' }).getByRole('listitem')
  expect(await row.getAttribute('aria-current')).toBe(null)
  await row.getByRole('link').click()
  await page.waitForURL(/requests/)
  await expect.poll(() => row.getAttribute('aria-current')).toBe('true')
})

test('keys in another view leave the stream, which stays in the page, as it is', async () => {
  await issueTo('user-1', 'key-of-another-view')
  const page = await open('')
  await page.locator('.list').getByRole('link').first().waitFor()
  await page.getByRole('link', { name: 'Vouchers', exact: true }).click()
  await rowOf(page, 'key-of-another-view').waitFor()
  await page.keyboard.press('j')
  await expect
    .poll(() => page.evaluate("document.activeElement.closest('tr')?.textContent"))
    .toContain('key-of-another-view')
  await page.keyboard.press('Enter')
  await page.waitForURL(/vouchers\/vch_/)
})

test('list has 100 rows a page, and its count in front of them', async () => {
  for (let order = 0; order < 101; order += 1) await issueTo('user-of-pages', `page-${order}`)
  const page = await open('/vouchers?recipient_user_id=user-of-pages')
  const count = page.getByText('101 vouchers', { exact: true })
  await count.waitFor()
  await expect.poll(() => page.locator('tbody tr:visible').count()).toBe(100)
  const table = await page.getByRole('table').boundingBox()
  expect((await count.boundingBox())?.y).toBeLessThan(table?.y ?? 0)
  await page.getByText('page 1 of 2').waitFor()
  await page.getByRole('link', { name: 'Next' }).click()
  await expect.poll(() => page.locator('tbody tr:visible').count()).toBe(1)
  await page.getByRole('link', { name: 'Previous' }).click()
  await expect.poll(() => page.locator('tbody tr:visible').count()).toBe(100)
})

test('times are ISO 8601 in UTC, with the full instant as title', async () => {
  await issueTo('user-of-times', 'times-1')
  const page = await open('/vouchers?recipient_user_id=user-of-times')
  const time = page.locator('tbody time')
  await expect.poll(() => time.count()).toBe(3)
  const iso = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/
  const full = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
  for (const it of await time.all()) {
    expect(await it.textContent()).toMatch(iso)
    expect(await it.getAttribute('title')).toMatch(full)
    expect(await it.getAttribute('datetime')).toMatch(full)
  }
  await page.goto(ui('/'))
  const line = page.locator('.list time').first()
  expect(await line.textContent()).toMatch(iso)
  expect(await line.getAttribute('title')).toMatch(full)
  await page.goto(ui('/templates'))
  await page.locator('.axis').last().getByText(iso).first().waitFor()
})

test('quota that is used up is not green and says so', async () => {
  const own = await cliServer({ seed: longSeed })
  onTestFinished(() => own.close())
  const page = await openPage(browser, own, '/templates')
  const usedUp = rowOf(page, 'used up')
  await usedUp.getByText('1 of 1 issued, used up').waitFor()
  const meters = await page.evaluate(`[...document.querySelectorAll('meter')].map((it) =>
    [it.value, it.value > it.high ? 'bad' : it.value > it.low ? 'warn' : 'good'])`)
  expect(meters).toEqual([
    [0, 'good'],
    [1, 'good'],
    [1, 'bad'],
  ])
})

test.each(['vouchers', 'deliveries', 'templates'])(
  'list of %s shows the state beside the name on a phone',
  async (name) => {
    const own = await cliServer({ seed: longSeed })
    onTestFinished(() => own.close())
    const botId = long('bot_', 44)
    await own.client.webhook.set({ botId, url: 'https://shop.example/hook' })
    await own.client.platform.createChat({ bot_id: botId, user_id: long('user', 128) })
    const page = await openPage(browser, own, `/${name}`)
    await page.setViewportSize({ width: 390, height: 860 })
    const row = page.locator('tbody tr:visible').first()
    await row.waitFor()
    const [link, state] = [await row.getByRole('link').boundingBox(), await row.locator('.badge').first().boundingBox()]
    if (link === null || state === null) throw new Error('The row has no name or no state.')
    expect(state.x).toBeGreaterThan(link.x + link.width)
    expect(state.x + state.width).toBeLessThan(390)
    expect(Math.abs(state.y - link.y)).toBeLessThan(20)
  },
)

test('longest names, ids and texts of any direction fit into every view, wide and narrow', async () => {
  const own = await cliServer({ seed: longSeed })
  onTestFinished(() => own.close())
  const { client } = own
  const botId = long('bot_', 44)
  const url = `https://${'h'.repeat(60)}.example/${'p'.repeat(180)}`
  const set = await client.webhook.set({ botId, url })
  expect(set).toMatchObject({ ok: true })
  const chat = await client.platform.createChat({ bot_id: botId, user_id: long('user', 128) })
  if (!chat.ok) throw new Error(chat.code)
  await client.platform.sendAsUser({ chatId: chat.data.id, text: long('message', 400) })
  await client.platform.saveSnapshot({ name: 's'.repeat(64) })
  await client.vouchers.issue({ template_id: 'x'.repeat(200), external_issue_id: 'a', recipient_user_id: 'b' })
  const [vouchers, deliveries] = [await client.platform.vouchers({}), await client.platform.deliveries({})]
  if (!vouchers.ok || !deliveries.ok) throw new Error('The lists could not be read.')
  const page = await openPage(browser, own)
  const views = ['', 'vouchers', 'deliveries', 'templates', 'chats', 'reviews', 'clock', 'faults', 'errors', 'state']
  const details = [
    ...vouchers.data.items.map(({ id }) => `vouchers/${id}`),
    ...deliveries.data.items.map(({ id }) => `deliveries/${id}`),
    ...longSeed.applications.flatMap((it) => it.templates).map(({ id }) => `templates/${id}`),
    `chats/${chat.data.id}`,
    ...longSeed.bots.map(({ id }) => `bots/${id}`),
    ...['vouchers', 'x'.repeat(200)].map((it) => `vouchers/${it}`),
  ]
  await page.keyboard.press('/')
  await page.getByRole('combobox', { name: 'Find' }).fill(LATIN)
  await page.getByRole('option').filter({ hasText: LATIN }).first().waitFor()
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 860 })
    expect.soft([width, await page.evaluate(CUT)]).toEqual([width, [0]])
  }
  for (const path of [...views, ...details, 'reference']) {
    await page.goto(`${own.baseUrl}/_platform/ui/${path}`)
    await page.locator('.pane.current h1').first().waitFor()
    await expect.poll(() => page.locator('.pane:visible [aria-busy=true]').count()).toBe(0)
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 860 })
      const picture = `long-${path.replace('/', '-').slice(0, 40)}-${width}.png`
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, picture) })
      expect.soft([path, width, await page.evaluate(CUT)]).toEqual([path, width, [0]])
    }
  }
})
