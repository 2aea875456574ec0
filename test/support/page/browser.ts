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

/** The browser of this process: all test files use it, because starting one takes longer than most tests. */
let started: Promise<Browser> | undefined

function startBrowser(executablePath: string): Promise<Browser> {
  // Vitest ends its processes with SIGTERM. When a process exits, Playwright ends the browser and removes its folder.
  process.once('SIGTERM', () => process.exit())
  return chromium.launch({
    executablePath,
    handleSIGTERM: false,
    // Only ends what hangs: a busy machine takes many times as long as an idle one.
    timeout: 110_000,
    // Chromium's sandbox does not work for root, as which tests run in containers.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [`--host-resolver-rules=MAP *.${REBOUND_DOMAIN} 127.0.0.1`],
  })
}

/** The browser for the tests of a file. Where there is none, skips them and states the reason. */
export function useBrowser(): TestBrowser {
  const executablePath = findChromium()
  vi.setConfig({ testTimeout: TEST_MS_MAX, expect: { poll: { timeout: WAIT_MS_MAX } } })
  beforeAll(async () => {
    if (executablePath === undefined) return
    started ??= startBrowser(executablePath)
    await started
  })
  beforeEach(({ skip }) => skip(executablePath === undefined, noChromium))
  return {
    async page(options = {}) {
      if (started === undefined) throw new Error(noChromium)
      const context = await (await started).newContext(options)
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
