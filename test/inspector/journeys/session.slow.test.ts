import { readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { defaultSeed } from '../../../src/testing/options.js'
import { built } from '../../support/cli/built-cli.js'
import { closedPort } from '../../support/closed-port.js'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { emptyListenerPage } from '../../support/page/listener-page.js'
import { newLink } from '../../support/page/server.js'
import { chunksOf } from '../../support/server/request-body.js'
import { inFolder, type StandaloneServer, standaloneServer } from '../../support/server/server.js'

const browser = useBrowser()

const clientOf = ({ baseUrl, operatorKey }: StandaloneServer) =>
  createClient({ baseUrl, token: (kind) => (kind === 'operator' ? operatorKey : undefined) })

async function openPage(server: StandaloneServer): Promise<TestPage> {
  const page = await browser.page()
  await page.goto(await newLink(clientOf(server)))
  await page.getByText('Live', { exact: true }).waitFor()
  return page
}

interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly text: string
}

/** Another program on the port: it accepts everything and keeps all that it receives. */
async function stranger(port: number, respond: (request: IncomingMessage, body: string) => Promise<string> | string) {
  const received: Received[] = []
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await chunksOf(request)).toString()
    received.push({ method: request.method, url: request.url, text: `${request.rawHeaders.join('\n')}\n${body}` })
    response.writeHead(200, { 'content-type': 'application/json' }).end(await respond(request, body))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  return { received, close }
}

const tokenOf = async (page: TestPage) => String(await page.evaluate("sessionStorage.getItem('page-token')"))

/** Waits until the tab knows that its server is gone: an earlier request would reach the next program on the port. */
const noticed = (page: TestPage) => page.getByText('Disconnected', { exact: true }).waitFor()

test('tab sends a stranger on its port no token, and returns to its own server', { tags: 'page/6' }, () =>
  inFolder(async (dataDir) => {
    const options = { dataDir, seed: defaultSeed }
    const first = await standaloneServer(options)
    const page = await openPage(first)
    const token = await tokenOf(page)
    await first.close()
    await noticed(page)
    const other = await stranger(first.port, () =>
      JSON.stringify({ proof: 'ab'.repeat(32), build: 'x', success: true }),
    )
    await page.getByText('The server at this address does not know this tab').waitFor()
    await page.getByText('Stopped', { exact: true }).waitFor()
    // A form and a view with files of their own, and the palette: none of them asks the stranger.
    await page.getByRole('button', { name: 'Record a scenario …' }).click()
    await page.getByRole('link', { name: 'Faults', exact: true }).click()
    await page.getByText('Loading …').waitFor()
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByText('The server does not respond.').waitFor()
    // The browser opens a link for a new tab, without the session: a tab that the page opened would have it.
    await page.evaluate('window.open = () => { document.title = "opened" }')
    await page.getByRole('link', { name: 'Reviews', exact: true }).click({ modifiers: ['ControlOrMeta'] })
    await expect.poll(() => other.received.map(({ url }) => url)).toContain('/_platform/ui/reviews')
    expect(await page.title()).not.toBe('opened')
    const asked = other.received.length
    await expect.poll(() => other.received.length).toBeGreaterThan(asked)
    await other.close()
    // The browser itself may ask for the icon of the tab.
    const urls = other.received.map(({ method, url }) => `${method} ${url}`).filter((it) => !/\.(?:svg|ico)$/.test(it))
    expect(new Set(urls)).toEqual(new Set(['POST /_platform/ui/proof', 'GET /_platform/ui/reviews']))
    for (const { text } of other.received) {
      expect(text).not.toContain(token)
      expect(text.toLowerCase()).not.toContain('page-token')
    }
    const second = await standaloneServer({ ...options, port: first.port })
    // The view waited for the server.
    await page.getByRole('heading', { name: 'Faults', exact: true }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await tokenOf(page)).toBe(token)
    await second.close()
  }),
)

test('stranger that passes on the proof of the server on another port gets no token', () =>
  inFolder(async (dataDir) => {
    const first = await standaloneServer({ dataDir, seed: defaultSeed })
    const page = await openPage(first)
    const token = await tokenOf(page)
    await first.close()
    await noticed(page)
    const moved = await standaloneServer({ dataDir, seed: defaultSeed })
    expect(moved.port).not.toBe(first.port)
    const statuses: number[] = []
    const other = await stranger(first.port, async (request, body) => {
      const headers = { origin: moved.baseUrl, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
      const response = await fetch(`${moved.baseUrl}${request.url}`, { method: 'POST', headers, body })
      statuses.push(response.status)
      return response.text()
    })
    await page.getByText('The server at this address does not know this tab').waitFor()
    expect(statuses).toContain(401)
    expect(other.received.map(({ text }) => text).join('\n')).not.toContain(token)
    await moved.close()
  }))

test('tab of a server in memory sends nothing to the next server on the port, and says so', async () => {
  const first = await standaloneServer({ seed: defaultSeed })
  const page = await openPage(first)
  const token = await tokenOf(page)
  await first.close()
  await noticed(page)
  const second = await standaloneServer({ seed: defaultSeed, port: first.port })
  await page.getByText('The server at this address does not know this tab').waitFor()
  expect(await tokenOf(page)).toBe(token)
  // In the same tab, where the link changes nothing but the fragment.
  await page.goto(await newLink(clientOf(second)))
  await page.getByText('Live', { exact: true }).waitFor()
  await second.close()
})

test('file of sessions is private, and has hashes in place of tokens', { tags: 'page/5' }, () =>
  inFolder(async (dataDir) => {
    const server = await standaloneServer({ dataDir })
    const page = await openPage(server)
    const token = await tokenOf(page)
    const path = join(dataDir, 'page-sessions.json')
    const key = String(await page.evaluate("sessionStorage.getItem('page-proof-key')"))
    for (const state of ['running', 'stopped']) {
      if (state === 'stopped') await server.close()
      const text = readFileSync(path, 'utf8')
      expect([state, statSync(path).mode & 0o777]).toEqual([state, 0o600])
      expect(JSON.parse(text).sessions).toEqual([
        {
          hash: expect.stringMatching(/^[\da-f]{64}$/),
          origin: server.baseUrl,
          used_at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      ])
      for (const secret of [token, key]) expect(text).not.toContain(secret)
    }
  }),
)

test('tab reads its view again after a restart of its server', () =>
  inFolder(async (dataDir) => {
    const options = { dataDir, seed: defaultSeed }
    const first = await standaloneServer(options)
    const page = await openPage(first)
    await page.getByRole('link', { name: 'Reviews', exact: true }).click()
    await page.getByText('Nothing waits for review.').waitFor()
    await first.close()
    await page.getByText('Disconnected', { exact: true }).waitFor()
    const second = await standaloneServer({ ...options, port: first.port })
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByText('Nothing waits for review.').waitFor()
    expect(await page.getByText('does not respond').count()).toBe(0)
    await second.close()
  }))

test('tab continues when the built server was killed and started again from its folder', () =>
  inFolder(async (home) => {
    const run = async (...args: string[]) => {
      const ran = await built.run(args, home)
      if (ran.exit !== 0) throw new Error(ran.stderr)
      return ran.stdout
    }
    const start = ['server', 'start', '--detach', '--port', String(await closedPort()), '--json']
    const { pid } = JSON.parse(await run(...start))
    try {
      const page = await browser.page()
      await page.goto((await run('open', '--no-browser')).trim())
      await page.getByText('Live', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Record a scenario …' }).waitFor()
      process.kill(pid, 'SIGKILL')
      await page.getByText('Disconnected', { exact: true }).waitFor()
      // The view stays as it was, below the command that starts this very server.
      const gone = page
        .getByRole('alert')
        .filter({ hasText: /^No server responds here since \d{4}-\d\d-\d\d [\d:]+Z\. / })
      await gone.filter({ hasText: 'this tab then continues' }).waitFor()
      await page.getByRole('button', { name: 'Record a scenario …' }).waitFor()
      const command = String(await gone.getByRole('code').textContent())
      expect(command).toMatch(/^voucherctl server start --port=\d+ --data=\S+ --detach$/)
      await run(...command.split(' ').slice(1))
      await page.getByText('Live', { exact: true }).waitFor()
      await gone.waitFor({ state: 'hidden' })
      await page.getByRole('link', { name: 'Faults', exact: true }).click()
      await page.getByText('No fault is on.').waitFor()
    } finally {
      await run('server', 'stop')
    }
  }))

test('tab without a session names the command that opens its view, and the link of it does', () =>
  inFolder(async (home) => {
    const run = async (...args: string[]) => {
      const ran = await built.run(args, home)
      if (ran.exit !== 0) throw new Error(ran.stderr)
      return ran.stdout
    }
    const { base_url } = JSON.parse(
      await run('server', 'start', '--detach', '--port', String(await closedPort()), '--json'),
    )
    try {
      const page = await browser.page()
      await page.goto(`${base_url}/_platform/ui/vouchers?recipient_user_id=user-1`)
      const alert = page.getByRole('alert')
      await alert.getByText('This tab has no session.').waitFor()
      expect(await alert.getByRole('code').textContent()).toBe(
        `voucherctl open "/vouchers?recipient_user_id=user-1" --base-url ${base_url}`,
      )
      // A website may have opened the address, and shells differ in what they expand.
      for (const query of ["a='&calc", 'a=$(id)', 'a=`id`', 'a=%CMDCMDLINE%&calc', 'a=!!']) {
        await page.goto(`${base_url}/_platform/ui/vouchers?${query}`)
        const command = await alert.getByRole('code').textContent()
        expect(command).toMatch(/^voucherctl open "(?:[\w./?=&-]|%[\da-f]{2})+" --base-url [\w:/.]+$/i)
      }
      const link = await run('open', '/vouchers?recipient_user_id=user-1', '--base-url', base_url, '--no-browser')
      await page.goto(link.trim())
      await page.getByText('Live', { exact: true }).waitFor()
      expect(page.url()).toBe(`${base_url}/_platform/ui/vouchers?recipient_user_id=user-1`)
      expect(await page.getByLabel('Recipient').inputValue()).toBe('user-1')
    } finally {
      await run('server', 'stop')
    }
  }))

test('tab without a session on the page of a listener names the command of a listener', async () => {
  const listener = await emptyListenerPage()
  onTestFinished(() => listener.close())
  const page = await browser.page()
  await page.goto(new URL('deliveries', listener.newLink()).href)
  await page.getByText('voucherctl webhook listen --open', { exact: true }).waitFor()
})
