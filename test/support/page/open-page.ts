import type { Client } from '../../../src/client/index.js'
import type { TestBrowser, TestPage } from './browser.js'
import { newLink } from './server.js'

/** Opens one of the views of the page of a server with a new link. */
export async function openPage(
  browser: TestBrowser,
  { client }: { readonly client: Client },
  path = '/',
): Promise<TestPage> {
  const page = await browser.page()
  await page.goto((await newLink(client)).replace('/#', `${path}#`))
  await page.getByText('Live', { exact: true }).waitFor()
  return page
}
