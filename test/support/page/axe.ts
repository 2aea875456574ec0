import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Runs axe on the page as it is shown, and returns each violation with the elements it concerns. */
export async function axeViolations(page: Page): Promise<string[]> {
  const devTools = await page.context().newCDPSession(page)
  // Evaluated by the browser's own protocol: the page's policy allows no other script. The source is sent only once per
  // document, because to send it takes longer than to run axe.
  const isLoaded = await devTools.send('Runtime.evaluate', { expression: 'globalThis.axe !== undefined' })
  if (isLoaded.result.value !== true) await devTools.send('Runtime.evaluate', { expression: source })
  const { result, exceptionDetails } = await devTools.send('Runtime.evaluate', {
    expression: "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => ({ violations }))",
    awaitPromise: true,
    returnByValue: true,
  })
  await devTools.detach()
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description)
  const { violations } = result.value as Pick<AxeResults, 'violations'>
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`)
}
