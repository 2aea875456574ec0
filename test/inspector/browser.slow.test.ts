import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { listen } from '../support/listen.js'
import { axeViolations } from '../support/page/axe.js'
import { REBOUND_DOMAIN, useBrowser } from '../support/page/browser.js'

const browser = useBrowser()

/** Headers as strict as the headers of the inspector's page. */
const headers = {
  'Content-Type': 'text/html',
  'Content-Security-Policy': "default-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
}

async function serve(html: string): Promise<number> {
  return listen(createServer((_, response) => response.writeHead(200, headers).end(html)))
}

it('axe reports an image without a text alternative on a page with a strict policy', async () => {
  const port = await serve(
    '<html lang=en><title>A page</title><main><h1>A page</h1><img src=missing.png></main></html>',
  )
  const page = await browser.page()
  await page.goto(`http://127.0.0.1:${port}/`)
  expect(await axeViolations(page)).toEqual([expect.stringContaining('image-alt')])
})

it('page collects policy violations as errors', async () => {
  const port = await serve('<html lang=en><title>A page</title><script>document.title = "Changed"</script></html>')
  const page = await browser.page()
  await page.goto(`http://127.0.0.1:${port}/`)
  const policy = expect.stringContaining('Content Security Policy')
  await expect.poll(() => page.errors).toEqual([policy])
  expect(await page.title()).toBe('A page')
})

it('a rebound name reaches the server on 127.0.0.1', async () => {
  const port = await serve('<html lang=en><title>Reached</title></html>')
  const page = await browser.page()
  await page.goto(`http://page.${REBOUND_DOMAIN}:${port}/`)
  expect(await page.title()).toBe('Reached')
})
