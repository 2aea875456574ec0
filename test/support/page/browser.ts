import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { findChromium, noChromium } from './chromium.js'

/** Ends in names that the browser resolves to 127.0.0.1, as the DNS server of an attacker would after a rebinding. */
export const REBOUND_DOMAIN = 'rebound.test'

export interface TestBrowser {
  /** Opens a page with its own cookies and storage, which is closed when the test ends. */
  page(options?: BrowserContextOptions): Promise<TestPage>
}

export interface TestPage extends Page {
  /** Errors of scripts, and messages that the browser reports as errors, such as violations of a policy. */
  readonly errors: string[]
}

/** Starts a browser for the tests of a file. Where there is none, skips them and states the reason. */
export function useBrowser(): TestBrowser {
  const executablePath = findChromium()
  let browser: Browser | undefined
  beforeAll(async () => {
    if (executablePath === undefined) return
    browser = await chromium.launch({
      executablePath,
      // Only ends what hangs: a busy machine takes many times as long as an idle one.
      timeout: 110_000,
      // Chromium's sandbox does not work for root, as which tests run in containers.
      chromiumSandbox: process.getuid?.() !== 0,
      args: [`--host-resolver-rules=MAP *.${REBOUND_DOMAIN} 127.0.0.1`],
    })
  })
  beforeEach(({ skip }) => skip(executablePath === undefined, noChromium))
  afterAll(() => browser?.close())
  return {
    async page(options = {}) {
      if (browser === undefined) throw new Error(noChromium)
      const context = await browser.newContext(options)
      onTestFinished(() => context.close())
      const page = await context.newPage()
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
      return Object.assign(page, { errors })
    },
  }
}
