import { createServer, type IncomingHttpHeaders } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listen } from '../support/listen.js'
import { REBOUND_DOMAIN, type TestPage, useBrowser } from '../support/page/browser.js'
import { emptyListenerPage } from '../support/page/listener-page.js'
import { newLink, pageServer } from '../support/page/server.js'

const browser = useBrowser()

/** A page that is attacked: of a server or of a listener. */
interface Target {
  readonly origin: string
  readonly link: () => Promise<string>
  readonly close: () => Promise<void>
}

async function serverTarget(): Promise<Target> {
  const server = await pageServer()
  return { origin: server.baseUrl, link: () => newLink(server.client), close: server.close }
}

async function listenerTarget(): Promise<Target> {
  const page = await emptyListenerPage()
  return { origin: new URL(page.newLink()).origin, link: async () => page.newLink(), close: page.close }
}

/** A website on another port of 127.0.0.1 that keeps the headers of every request. */
async function website() {
  const received: IncomingHttpHeaders[] = []
  const port = await listen(
    createServer((request, response) => {
      received.push(request.headers)
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>Site</title>')
    }),
  )
  return { received, port, origin: `http://127.0.0.1:${port}` }
}

describe.each([
  ['server', serverTarget, '/_platform/v1/clock'],
  ['listener', listenerTarget, '/_platform/v1/deliveries'],
])('page of a %s', (name, start, readable) => {
  let target: Target
  beforeAll(async () => {
    target = await start()
  })
  afterAll(() => target.close())
  const ui = () => `${target.origin}/_platform/ui/`

  /** Opens the page with a new link; `page` then shows it, with its session. */
  async function openPage(): Promise<TestPage> {
    const page = await browser.page()
    await page.goto(await target.link())
    await page.getByText('Live', { exact: true }).waitFor()
    return page
  }

  /** Status of each response of the attacked page that this page of the browser gets from now on. */
  function statusesOf(page: TestPage): number[] {
    const statuses: number[] = []
    page.on('response', (it) => new URL(it.url()).port === new URL(target.origin).port && statuses.push(it.status()))
    return statuses
  }

  /** Calls the attacked page from a script of the page that is shown; resolves with the status if it can be read. */
  const callFrom = (page: TestPage, path: string, init: object) =>
    page.evaluate(
      ([url, options]) =>
        fetch(url as string, options as RequestInit).then(
          (it) => it.status || it.type,
          () => 'unreadable',
        ),
      [target.origin + path, { credentials: 'include', ...init }] as const,
    )

  test(`another port of 127.0.0.1 gets no cookie and no session of the page of a ${name}`, async () => {
    const page = await openPage()
    const site = await website()
    await page.goto(site.origin)
    await page.evaluate('fetch("/own", { credentials: "include" })')
    const storage = 'JSON.stringify([document.cookie, Object.keys(sessionStorage), Object.keys(localStorage), name])'
    expect(await page.evaluate(storage)).toBe('["",[],[],""]')
    expect(await page.context().cookies()).toEqual([])
    expect(site.received.length).toBeGreaterThan(1)
    expect(site.received.filter((it) => it.cookie !== undefined || it['page-token'] !== undefined)).toEqual([])
    // What the website got from the browser, with the headers of the page forged by a program.
    const { host, connection, ...stolen } = (site.received.at(-1) ?? {}) as Readonly<Record<string, string>>
    expect([host, connection]).toEqual([`127.0.0.1:${site.port}`, 'keep-alive'])
    const headers = { ...stolen, origin: target.origin, 'sec-fetch-site': 'same-origin' }
    expect((await fetch(target.origin + readable, { headers })).status).toBe(401)
    const token = await fetch(`${target.origin}/_platform/v1/accounts/acme/token`, { method: 'POST', headers })
    expect(token.status).toBe(401)
    // The tab has its session still.
    await page.goto(ui())
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test(`a page on another port and another website can read and change nothing of a ${name}`, async () => {
    const page = await openPage()
    const site = await website()
    for (const origin of [site.origin, `http://site.${REBOUND_DOMAIN}:${site.port}`]) {
      await page.goto(origin)
      for (const init of [
        {},
        { mode: 'no-cors' },
        { headers: { 'page-token': 'A'.repeat(43) } },
        { method: 'POST', mode: 'no-cors', body: '{}' },
        { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"ticket":"x"}' },
      ]) {
        for (const path of [readable, '/_platform/ui/features', '/_platform/ui/session']) {
          expect([init, path, await callFrom(page, path, init)]).toEqual([init, path, 'unreadable'])
        }
      }
    }
  })

  test(`a name that resolves to this machine opens no page of a ${name}`, async () => {
    const page = await openPage()
    const rebound = `http://page.${REBOUND_DOMAIN}:${new URL(target.origin).port}`
    for (const path of ['/_platform/ui/', '/_platform/ui/app.js', readable]) {
      expect([path, (await page.goto(rebound + path))?.status()]).toEqual([path, 403])
    }
    expect(await page.content()).toContain('HOST_NOT_ALLOWED')
  })

  test(`a form of another website changes nothing through the page of a ${name}`, async () => {
    const page = await openPage()
    const site = await website()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      await page.goto(site.origin)
      const action = `${target.origin}/_platform/ui/session`
      await page.setContent(`<form method=post enctype="${type}" action="${action}"><button>Win</button></form>`)
      const response = page.waitForResponse(action)
      await page.getByRole('button').click()
      expect([type, (await response).status()]).toEqual([type, 403])
    }
  })

  test(`another website can neither frame nor open the page of a ${name}`, async () => {
    const page = await openPage()
    const site = await website()
    await page.goto(site.origin)
    const statuses = statusesOf(page)
    await page.setContent(`<iframe src="${ui()}"></iframe>`)
    await expect.poll(() => statuses).toEqual([403])
    expect(await page.frameLocator('iframe').getByText('Live').count()).toBe(0)
    const popup = page.waitForEvent('popup')
    await page.evaluate(`void open(${JSON.stringify(ui())})`)
    const opened = await popup
    await opened.getByText('CROSS_SITE_REQUEST').waitFor()
  })

  test(`a frame of its own origin shows no page of a ${name}`, async () => {
    const page = await openPage()
    const errors = page.errors.length
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('iframe'), { src: '/_platform/ui/' }))`,
    )
    await expect.poll(() => page.errors.slice(errors).join()).toMatch(/frame/i)
    expect(await page.frameLocator('iframe').getByText('Live').count()).toBe(0)
  })

  test(`used ticket, ticket of another server and forged token open no page of a ${name}`, async () => {
    const link = await target.link()
    const first = await browser.page()
    await first.goto(link)
    await first.getByText('Live', { exact: true }).waitFor()
    const other = await serverTarget()
    const foreign = `${ui()}${new URL(await other.link()).hash}`
    for (const [url, token] of [
      [link, null],
      [foreign, null],
      [ui(), null],
      [ui(), 'A'.repeat(43)],
    ] as const) {
      const page = await browser.page()
      if (token !== null) await page.addInitScript(`sessionStorage.setItem('page-token', '${token}')`)
      const statuses = statusesOf(page)
      await page.goto(url)
      await page.getByText('This tab has no session').waitFor()
      expect(await page.getByRole('row').count()).toBe(0)
      await expect.poll(() => statuses).toContain(401)
    }
    await other.close()
  })

  test(`tab of the page of a ${name} keeps its session on reload, and another tab needs a link`, async () => {
    const page = await openPage()
    const requested: string[] = []
    page.context().on('request', (it) => requested.push(it.url()))
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    const token = await page.evaluate("sessionStorage.getItem('page-token')")
    expect(token).toMatch(/^[\w-]{43}$/)
    expect([page.url(), await page.evaluate('history.length')]).toEqual([ui(), 1 + 1])
    expect(requested.filter((it) => it.includes(String(token)) || it.includes('ticket'))).toEqual([])
    expect(page.errors).toEqual([])
    const second = await page.context().newPage()
    await second.goto(ui())
    await second.getByText('This tab has no session').waitFor()
    await second.goto(await target.link())
    await second.getByText('Live', { exact: true }).waitFor()
    // The link of the second tab ends nothing of the first.
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test(`tab that the page of a ${name} opens has its own copy of the session`, { tags: 'page/4' }, async () => {
    const page = await openPage()
    const requested: string[] = []
    page.context().on('request', (it) => requested.push(it.url()))
    const link = page.getByRole('link', { name: 'Deliveries', exact: true })
    for (const click of [
      () => link.click({ modifiers: ['ControlOrMeta'] }),
      () => link.click({ modifiers: ['Shift'] }),
      () => link.click({ button: 'middle' }),
    ]) {
      const opening = page.context().waitForEvent('page')
      await click()
      const tab = await opening
      await tab.getByText('Live', { exact: true }).waitFor()
      await tab.getByRole('heading', { name: 'Deliveries', exact: true }).waitFor()
      expect([tab.url(), await tab.evaluate('opener')]).toEqual([`${ui()}deliveries`, null])
      // What it does with its copy ends nothing of the first.
      await tab.evaluate('sessionStorage.clear()')
      await tab.reload()
      await tab.getByText('This tab has no session').waitFor()
      await tab.close()
    }
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    const token = await page.evaluate("sessionStorage.getItem('page-token')")
    expect(requested.filter((it) => it.includes(String(token)) || it.includes('ticket'))).toEqual([])
  })

  test(`website shown by a tab of the page of a ${name} opens no page with its session`, async () => {
    const page = await openPage()
    const site = await website()
    await page.goto(site.origin)
    for (const features of ['', 'noopener']) {
      const opening = page.context().waitForEvent('page')
      await page.evaluate(`void open(${JSON.stringify(ui())}, '_blank', '${features}')`)
      const tab = await opening
      await tab.getByText('CROSS_SITE_REQUEST').waitFor()
      // The browser copied the storage, but no script of another website can read it or run here.
      expect(await tab.getByText('Live').count()).toBe(0)
      await tab.close()
    }
    const token = 'JSON.stringify([sessionStorage.length, document.referrer])'
    expect(await page.evaluate(token)).toBe('[0,""]')
  })
})
