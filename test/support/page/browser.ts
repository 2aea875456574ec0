import process from 'node:process'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { beforeAll, beforeEach, onTestFinished, vi } from 'vitest'
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

/**
 * Limits of a test and of each wait in it, ms. They only end what hangs: a test takes dozens of steps, and on a busy
 * machine each of them takes a second.
 */
const TEST_MS_MAX = 300_000
const WAIT_MS_MAX = 120_000

/**
 * The browsers of this process, by whether they show scroll bars: all test files use them, because starting one takes
 * longer than most tests.
 */
const started = new Map<boolean, Promise<Browser>>()

function startBrowser(executablePath: string, hasScrollBars: boolean): Promise<Browser> {
  // Vitest ends its processes with SIGTERM. When a process exits, Playwright ends the browser and removes its folder.
  process.once('SIGTERM', () => process.exit())
  return chromium.launch({
    executablePath,
    handleSIGTERM: false,
    // Only ends what hangs: a busy machine takes many times as long as an idle one.
    timeout: 110_000,
    // Chromium's sandbox does not work for root, as which tests run in containers.
    chromiumSandbox: process.getuid?.() !== 0,
    ...(hasScrollBars && { ignoreDefaultArgs: ['--hide-scrollbars'] }),
    args: [`--host-resolver-rules=MAP *.${REBOUND_DOMAIN} 127.0.0.1`],
  })
}

/**
 * The browser for the tests of a file. Where there is none, skips them and states the reason.
 * @param hasScrollBars true for scroll bars that take room, as with a mouse
 */
export function useBrowser({ hasScrollBars = false } = {}): TestBrowser {
  const executablePath = findChromium()
  vi.setConfig({ testTimeout: TEST_MS_MAX, expect: { poll: { timeout: WAIT_MS_MAX } } })
  beforeAll(async () => {
    if (executablePath === undefined) return
    if (!started.has(hasScrollBars)) started.set(hasScrollBars, startBrowser(executablePath, hasScrollBars))
    await started.get(hasScrollBars)
  })
  beforeEach(({ skip }) => skip(executablePath === undefined, noChromium))
  return {
    async page(options = {}) {
      const context = await (await started.get(hasScrollBars))?.newContext(options)
      if (context === undefined) throw new Error(noChromium)
      onTestFinished(() => context.close())
      context.setDefaultTimeout(WAIT_MS_MAX)
      const page = await context.newPage()
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(String(error)))
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
      return Object.assign(page, { errors })
    },
  }
}
