import { join } from 'node:path'
import { expect } from 'vitest'
import { axeViolations } from './axe.js'
import type { TestPage } from './browser.js'

/** Folder for pictures of every view, for people to look at. */
const { VOUCHERCTL_SCREENSHOTS: pictures } = process.env

const looks = [1280, 390].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)

/** Checks the page as it is shown with axe, in both colour schemes, wide and narrow; nothing lies beside the screen. */
export async function checkLook(page: TestPage, name: string): Promise<void> {
  for (const { width, colorScheme } of looks) {
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const picture = `${name}-${width}-${colorScheme}.png`
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, picture) })
    expect([picture, await axeViolations(page)]).toEqual([picture, []])
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: picture }).toBe(width)
  }
  await page.setViewportSize({ width: 1280, height: 860 })
}
