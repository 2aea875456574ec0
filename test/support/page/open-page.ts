import type { Client } from '../../../src/client/index.js'
import type { TestBrowser, TestPage } from './browser.js'
import { newLink } from './server.js'

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
