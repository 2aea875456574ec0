import { expect, test } from 'vitest'
import { useBrowser } from '../../support/page/browser.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer } from '../../support/page/server.js'

const browser = useBrowser({ hasScrollBars: true })
const server = usePageServer()

const VOUCHERS = 300
const MESSAGES = 30
const LONG = 'a-name-that-is-as-long-as-it-may-be-'.repeat(3).slice(0, 60)

const sizes = [
  { width: 1280, height: 800 },
  { width: 960, height: 700 },
  { width: 640, height: 480 },
  { width: 390, height: 844 },
]

/** Fills the server with so much that every view has to scroll; returns the addresses of all kinds of views. */
async function fill(): Promise<readonly string[]> {
  const { platform, vouchers } = server.client
  const chat = await platform.createChat({ bot_id: 'bot_shop', user_id: LONG })
  if (!chat.ok) throw new Error(chat.code)
  const { id } = chat.data
  for (let sent = 0; sent < MESSAGES; sent += 1)
    await platform.sendAsUser({ chatId: id, text: `${sent} ${'long '.repeat(sent % 7 ? 3 : 200)}` })
  const issue = (index: number) =>
    vouchers.issue({ template_id: 'tpl_coffee', external_issue_id: `${LONG}-${index}`, recipient_user_id: LONG })
  for (let issued = 0; issued < VOUCHERS; issued += 20)
    await Promise.all(Array.from({ length: 20 }, (_, index) => issue(issued + index)))
  for (let count = 0; count < 30; count += 1)
    await platform.addFault({ endpoint: 'apps.list', kind: 'delay', delay_ms: 1, share: 0.01 })
  for (let count = 0; count < 12; count += 1)
    await platform.saveSnapshot({ name: `snapshot-${count}-${LONG}`.slice(0, 64) })
  const [voucher] = (await listOf(platform.vouchers({}))).map((it) => it.id)
  const [delivery] = (await listOf(platform.deliveries({}))).map((it) => it.id)
  const lists = [
    '',
    'vouchers',
    'deliveries',
    'templates',
    'chats',
    'reviews',
    'clock',
    'faults',
    'errors',
    'state',
    'reference',
  ]
  const details = [
    `vouchers/${voucher}`,
    `deliveries/${delivery}`,
    'templates/tpl_coffee',
    'bots/bot_shop',
    `chats/${id}`,
  ]
  return [...lists, ...details, 'reference?find=vouchers.redeem', 'nothing/here'].map((it) => `/${it}`)
}

async function listOf<T>(call: Promise<{ ok: true; data: { items: readonly T[] } } | { ok: false; code: string }>) {
  const result = await call
  if (!result.ok) throw new Error(result.code)
  return result.data.items
}

/** Parts of the document that are larger than the window, or that the wheel has moved; none if all is well. */
const outside = `[document.documentElement, document.body].flatMap((it) => {
  const { scrollWidth, scrollHeight, scrollTop, scrollLeft } = it
  const isInside = scrollWidth <= innerWidth && scrollHeight <= innerHeight && scrollTop === 0 && scrollLeft === 0
  return isInside ? [] : [[it.tagName, scrollWidth, scrollHeight, scrollTop, scrollLeft].join(' ')]
}).concat(scrollY === 0 ? [] : ['window ' + scrollY])`

/** Middle of every part of the view that scrolls, with the width that its scroll bar takes; the window last. */
const scrollable = `[...document.querySelectorAll('body *')].flatMap((it) => {
  const { overflowX, overflowY } = getComputedStyle(it)
  const isScrollable =
    (/auto|scroll/.test(overflowY) && it.scrollHeight > it.clientHeight) ||
    (/auto|scroll/.test(overflowX) && it.scrollWidth > it.clientWidth)
  const { x, y, width, height } = it.getBoundingClientRect()
  const at = [Math.min(innerWidth - 2, x + width / 2), Math.min(innerHeight - 2, y + height / 2)]
  return isScrollable && width > 0 && height > 0 && at[1] > 0 ? [[...at, it.offsetWidth - it.clientWidth]] : []
}).slice(0, 8).concat([[innerWidth / 2, innerHeight / 2, 0]])`

test('document is never larger than the window, in any view, also after the wheel has turned', async () => {
  const views = await fill()
  const page = await openPage(browser, server)
  const found: string[] = []
  const withBar = new Set<string>()
  for (const path of views) {
    await page.goto(`${server.baseUrl}/_platform/ui${path}`)
    await page.locator('main :is(h1, h2)').first().waitFor({ state: 'attached' })
    await expect.poll(() => page.locator('main [aria-busy=true]').count()).toBe(0)
    for (const size of sizes) {
      await page.setViewportSize(size)
      const note = async (when: string) =>
        found.push(...((await page.evaluate(outside)) as string[]).map((it) => `${path} ${size.width} ${when}: ${it}`))
      await note('at first')
      for (const [x, y, bar] of (await page.evaluate(scrollable)) as [number, number, number][]) {
        if (bar > 10) withBar.add(path)
        await page.mouse.move(x, y)
        await page.mouse.wheel(0, 20_000)
        await page.mouse.wheel(20_000, 0)
        await note(`after the wheel at ${Math.round(x)} ${Math.round(y)}`)
      }
    }
  }
  expect(found).toEqual([])
  // Nearly every view scrolls in a small window, with a scroll bar that takes room.
  expect(withBar.size).toBeGreaterThan(views.length / 2)
  expect(page.errors).toEqual([])
})
