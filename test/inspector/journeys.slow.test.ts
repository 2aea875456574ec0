import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { templateBody } from '../../src/contract/openapi/template-body.js'
import { defaultSeed } from '../../src/testing/options.js'
import { listen } from '../support/listen.js'
import { axeViolations } from '../support/page/axe.js'
import { type TestPage, useBrowser } from '../support/page/browser.js'
import { openPage } from '../support/page/open-page.js'
import { HOSTILE, newLink, usePageServer, WEBHOOK_SECRET } from '../support/page/server.js'
import { inFolder, standaloneServer } from '../support/server/server.js'
import { codeOf } from '../support/server/tenant.js'

/** Folder for pictures of every view, for people to look at. */
const { VOUCHERCTL_SCREENSHOTS: pictures } = process.env

const browser = useBrowser()
const server = usePageServer()

const ui = (path: string) => `${server.baseUrl}/_platform/ui${path}`

const open = (path = '') => openPage(browser, server, path)

/** Redeems a new voucher; returns its id. */
async function redeem(): Promise<string> {
  const { id, credential } = await server.issue()
  const { ok } = await server.client.vouchers.redeem({ credential })
  expect(ok).toBe(true)
  return id
}

/** Redeems a voucher whose delivery to the application the page then shows. */
async function openDelivery(page: TestPage): Promise<void> {
  const id = await redeem()
  await page.goto(ui(`/?voucher=${id}&type=voucher_redeemed`))
  // An app that refuses it gets it again, which adds a row.
  await page.getByRole('link', { name: 'voucher_redeemed' }).first().click()
  await page.getByRole('heading', { name: 'Signature', exact: true }).waitFor()
}

test('redeem appears in the stream, and its request, response and voucher open from there', async () => {
  const page = await open()
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  const id = await redeem()
  const row = page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).filter({ hasText: id })
  await row.waitFor()
  // The open stream brought it: the page asked at most for names, the time, held calls and what is unusual.
  expect(
    asked.filter((it) => !/\/_platform\/v1\/(?:applications\?|bots\?|templates\?|clock$|faults$|overview$)/.test(it)),
  ).toEqual([])
  await row.getByRole('link').click()
  await page.waitForURL(/\/_platform\/ui\/requests\/req_/)
  await page.getByRole('heading', { name: 'Response', exact: true }).waitFor()
  await page.getByRole('link', { name: id }).first().click()
  await page.waitForURL(ui(`/vouchers/${id}`))
  await page.locator('.current').getByText('redeemed', { exact: true }).first().waitFor()
  expect(page.errors).toEqual([])
})

test('delivery shows that the app refused it, and that another secret is the cause', async () => {
  server.app.secret = 'a-secret-of-the-app'
  const page = await open()
  await openDelivery(page)
  await page.getByText('401').first().waitFor()
  await page.getByLabel('Secret that the app uses').fill('a-secret-of-the-app')
  await page.getByText('the app uses a different secret').waitFor()
  // src/inspector/page.png is such a picture with more deliveries, in a palette of 40 colours.
  await page.setViewportSize({ width: 1280, height: 760 })
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, 'cause.png') })
  await page.getByLabel('Secret that the app uses').fill(WEBHOOK_SECRET)
  await page
    .getByRole('status')
    .filter({ hasText: /matches/ })
    .waitFor()
  server.app.secret = WEBHOOK_SECRET
  expect(page.errors).toEqual([])
})

test('replay with edited bytes is signed, and the app gets exactly these bytes', async () => {
  const page = await open()
  await openDelivery(page)
  await page.getByRole('button', { name: 'Edited' }).click()
  const box = page.getByLabel('Bytes to send')
  const original = await box.inputValue()
  const edited = original.replace('"voucher_redeemed"', '"voucher_redeemed" ')
  await box.fill(edited)
  await page.getByRole('button', { name: 'Send signed' }).click()
  await page.getByRole('status').getByText('The app accepted it.').waitFor()
  // The app also gets other updates, such as those that it has refused before.
  const { update_id } = JSON.parse(original)
  const received = server.app.bodies.map(String).filter((it) => JSON.parse(it).update_id === update_id)
  expect(received.filter((it) => it !== original)).toEqual([edited])
  expect(page.errors).toEqual([])
})

test('clock of the page does what its forecast says when it is advanced', async () => {
  const { id } = await server.issue()
  const page = await open('/clock')
  await page.getByRole('button', { name: '+31 d' }).click()
  await page.getByText(/vouchers? expires?/).waitFor()
  await page.getByRole('button', { name: 'Advance', exact: true }).click()
  // The target is gone as soon as the server has moved its clock.
  await page.getByText('Move the slider to see what happens until then.').waitFor()
  await page.goto(ui(`/vouchers/${id}`))
  await page.locator('.current').getByText('expired', { exact: true }).first().waitFor()
  expect(page.errors).toEqual([])
})

test('fault of the page affects the next call when switched on, and ends when switched off', async () => {
  const page = await open('/faults')
  await page.getByLabel('Target').selectOption('vouchers.verify')
  await page.getByLabel('What happens').selectOption({ label: 'Fail with 503' })
  await page.getByLabel('Share in %').fill('100')
  await page.getByLabel('How many').fill('')
  await page.getByRole('button', { name: 'Switch it on' }).click()
  const fault = page.getByRole('button', { name: 'Remove: 100 % of the calls of vouchers.verify' })
  await fault.waitFor()
  const { credential } = await server.issue()
  expect(await server.client.vouchers.verify({ credential })).toMatchObject({ ok: false, status: 503 })
  await fault.click()
  await page.getByText('No fault is on.').waitFor()
  expect(await server.client.vouchers.verify({ credential })).toMatchObject({ ok: true })
  await page.goto(ui('/?type=vouchers.verify'))
  await page.getByRole('row').filter({ hasText: '503' }).first().waitFor()
  expect(page.errors).toEqual([])
})

test('text of a sender stays text in every view', async () => {
  const created = await server.client.templates.create({
    ...templateBody,
    external_template_id: 'hostile',
    name: HOSTILE,
    issuer_name: HOSTILE,
    fulfiller_name: HOSTILE,
  })
  if (!created.ok) throw new Error(created.code)
  const { id: templateId } = created.data
  await server.client.templates.submit({ templateId })
  const page = await open('/reviews')
  const isText = async () => {
    await page.getByText('<script>', { exact: false }).first().waitFor({ state: 'attached' })
    expect(await page.locator('main script, main img, main iframe').count()).toBe(0)
    expect(await page.evaluate('window.hostile')).toBeUndefined()
  }
  await isText()
  await server.client.platform.approveTemplate({ templateId })
  await page.goto(ui('/templates'))
  await isText()
  const order = { template_id: templateId, external_issue_id: 'hostile-1', recipient_user_id: 'user-1' }
  const issued = await server.client.vouchers.issue({ ...order, metadata: { note: HOSTILE } })
  if (!issued.ok) throw new Error(issued.code)
  for (const path of ['/vouchers', `/vouchers/${issued.data.id}`]) {
    await page.goto(ui(path))
    await isText()
  }
  await page.goto(ui('/'))
  await page.getByText('Live', { exact: true }).waitFor()
  // Node's fetch sends the header as it is.
  await fetch(`${server.baseUrl}/api/v1/open-platform/vouchers/${encodeURIComponent(HOSTILE)}`, {
    headers: { 'User-Agent': HOSTILE },
  })
  await page.getByRole('row').filter({ hasText: '404' }).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Response', exact: true }).waitFor()
  await isText()
  await openDelivery(page)
  await isText()
  expect(page.errors).toEqual([])
})

test('stream shows 10,000 entries without stalling while they arrive, and finds one of them', async () => {
  const [groups, size] = [10, 1_000]
  let write: ((lines: string) => void) | undefined
  const feed = await listen(
    createServer((_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      response.flushHeaders()
      write = (lines) => response.write(lines)
    }),
  )
  const lineOf = (seq: number) => {
    const request = {
      time: new Date(1_800_000_000_000 + seq).toISOString(),
      request_id: `req_${seq}`,
      endpoint: seq === 17 ? 'vouchers.redeem' : 'vouchers.verify',
      method: 'POST',
      path: '/api/v1/open-platform/vouchers/verify',
      status: 200,
      code: null,
      application_id: 'app_shop',
      voucher_id: `vch_${seq}`,
      replayed: false,
      duration_ms: 1,
    }
    return `${JSON.stringify({ seq, kind: 'request', request, exchange: null })}\n`
  }
  const page = await browser.page()
  await page.route('**/_platform/v1/activity*', (route) => route.continue({ url: `http://127.0.0.1:${feed}/` }))
  await page.goto(await newLink(server.client))
  await page.getByText('Live', { exact: true }).waitFor()
  for (let group = 0; group < groups; group += 1) {
    write?.(Array.from({ length: size }, (_, index) => lineOf(group * size + index)).join(''))
    // The next group follows when the page has shown this one: it renders in between.
    await page
      .getByRole('row')
      .filter({ hasText: `vch_${(group + 1) * size - 1}` })
      .waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(100)
  }
  await page.getByLabel('Text').fill('vch_17')
  await page.getByLabel('Type').selectOption('vouchers.redeem')
  await page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).waitFor()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
})

test('keyboard alone finds an entry, opens it, returns and shows the keys', async () => {
  await redeem()
  const page = await open()
  await page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).first().waitFor()
  await page.keyboard.press('/')
  await page.getByRole('combobox', { name: 'Find' }).waitFor()
  await page.keyboard.type('vouchers.redeem 200')
  await page.getByRole('option', { name: 'vouchers.redeem 200' }).first().waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'vouchers.redeem', exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByLabel('Filter of the stream').waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.reload()
  await page.getByText('Live', { exact: true }).waitFor()
  const focused = () => page.evaluate('document.activeElement.textContent')
  for (let tabs = 0; tabs < 10 && (await focused()) !== 'Vouchers'; tabs += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Vouchers' }).waitFor()
  // The page moves the focus after the frame that shows the heading.
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
  expect(page.errors).toEqual([])
})

test('axe finds no problem in any view, light or dark, wide or narrow', async () => {
  server.app.secret = 'a-secret-of-the-app'
  const id = await redeem()
  const page = await open()
  const pathOf = async (name: string) => {
    const row = page.getByRole('row').filter({ hasText: id })
    const href = await row.getByRole('link', { name }).first().getAttribute('href')
    return href?.replace('/_platform/ui', '') ?? ''
  }
  const views = {
    stream: '/',
    request: await pathOf('vouchers.redeem'),
    vouchers: '/vouchers',
    voucher: `/vouchers/${id}`,
    deliveries: '/deliveries',
    delivery: await pathOf('voucher_redeemed'),
    clock: '/clock',
    faults: '/faults',
    reviews: '/reviews',
    templates: '/templates',
    unknown: '/unknown',
  }
  server.app.secret = WEBHOOK_SECRET
  const looks = [1280, 390].flatMap((width) =>
    (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
  )
  for (const [name, path] of Object.entries(views)) {
    await page.goto(ui(path))
    await page.locator('main :is(h1, .list)').first().waitFor({ state: 'attached' })
    await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
    for (const [index, { width, colorScheme }] of looks.entries()) {
      // Each width and each colour scheme is checked once; people look at all four.
      const isChecked = index === 0 || index === 3
      if (!isChecked && pictures === undefined) continue
      await page.setViewportSize({ width, height: 860 })
      await page.emulateMedia({ colorScheme })
      const picture = `${name}-${width}-${colorScheme}.png`
      if (pictures !== undefined) await page.screenshot({ path: join(pictures, picture) })
      if (isChecked) expect([picture, await axeViolations(page)]).toEqual([picture, []])
    }
    // Nothing lies beside the screen of a telephone.
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: name }).toBe(390)
  }
  expect(page.errors).toEqual([])
})

test('page continues after a restart of its server, without a reload, with the same data', () =>
  inFolder(async (dataDir) => {
    const options = { dataDir, seed: defaultSeed }
    const first = await standaloneServer(options)
    const { baseUrl, port, operatorKey } = first
    const client = createClient({ baseUrl, token: (kind) => (kind === 'operator' ? operatorKey : server.token) })
    const order = { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' }
    const issued = await client.vouchers.issue(order)
    if (!issued.ok) throw new Error(issued.code)
    await client.vouchers.redeem({ credential: codeOf(issued.data) })
    const page = await browser.page()
    await page.goto(await newLink(client))
    await page.getByText('Live', { exact: true }).waitFor()
    await first.close()
    await page.getByText('Disconnected', { exact: true }).waitFor()
    const second = await standaloneServer({ ...options, port })
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Vouchers', exact: true }).click()
    await page.getByRole('link', { name: issued.data.id }).click()
    await page.waitForURL(`${baseUrl}/_platform/ui/vouchers/${issued.data.id}`)
    await page.locator('.current').getByText('redeemed', { exact: true }).first().waitFor()
    await second.close()
  }))

test('first view loads one script; a request whose file fails to load says so and tries again', async () => {
  const page = await browser.page()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await page.goto(await newLink(server.client))
  await page.getByText('Live', { exact: true }).waitFor()
  const id = await redeem()
  const row = page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).filter({ hasText: id })
  await row.waitFor()
  expect(asked).toContain('/_platform/ui/app.js')
  expect(asked.filter((it) => /\.js$/.test(it))).toEqual(['/_platform/ui/app.js'])
  await page.route('**/views.js', (route) => route.abort())
  await row.getByRole('link').click()
  await page.getByText('The server does not respond.').waitFor()
  await page.unroute('**/views.js')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'vouchers.redeem', exact: true }).waitFor()
})
