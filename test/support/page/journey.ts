import { join } from 'node:path'
import { expect } from 'vitest'
import type { Client } from '../../../src/client/index.js'
import { axeViolations } from './axe.js'
import type { TestBrowser, TestPage } from './browser.js'
import { newLink } from './server.js'

/** Folder for pictures of every view, for people to look at. */
const { VOUCHERCTL_SCREENSHOTS: pictures } = process.env

/** Opens the page of a server with a new link, and then one of its views. */
export async function openPage(
  browser: TestBrowser,
  { baseUrl, client }: { readonly baseUrl: string; readonly client: Client },
  path = '',
): Promise<TestPage> {
  const page = await browser.page()
  await page.goto(await newLink(client))
  await page.getByText('Live', { exact: true }).waitFor()
  if (path !== '') await page.goto(`${baseUrl}/_platform/ui${path}`)
  return page
}

const looks = [1280, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)

/** Checks the view that is open with axe, light and dark, wide and narrow; nothing may lie beside the screen. */
export async function expectAccessible(page: TestPage, name: string): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const picture = `${name}-${width}-${colorScheme}.png`
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, picture), fullPage: true })
    expect([picture, await axeViolations(page)]).toEqual([picture, []])
    expect([picture, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([picture, width])
  }
}
