import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { endpoints } from '../../../src/contract/index.js'
import { cli, temporaryDir } from '../../support/cli/cli.js'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { newLink, usePageServer } from '../../support/page/server.js'

const browser = useBrowser()
const server = usePageServer()

test('reference of the page finds an endpoint and shows its members, failures and examples', async () => {
  const page = await browser.page()
  await page.goto(await newLink(server.client))
  await page.getByRole('link', { name: 'API' }).click()
  await page.getByRole('heading', { name: 'vouchers Issue' }).waitFor()
  expect(await page.locator('.endpoint').count()).toBe(endpoints.length)
  await checkLook(page, 'reference')
  await page.getByLabel('Endpoint, path, scope').pressSequentially('vouchers/redeem', { delay: 20 })
  await page.getByRole('region', { name: 'curl of vouchers.redeem' }).waitFor()
  expect(await page.getByLabel('Endpoint, path, scope').inputValue()).toBe('vouchers/redeem')
  await expect.poll(() => page.locator('.endpoint').count()).toBe(1)
  await page.getByRole('cell', { name: 'body credential.value' }).waitFor()
  await page.getByText(/^\d+ failures: VOUCHER_/).click()
  await page.getByRole('cell', { name: 'VOUCHER_ALREADY_REDEEMED', exact: true }).waitFor()
  await page.getByText('await client.vouchers.redeem(').waitFor()
  await checkLook(page, 'reference-endpoint')
  // The filter is in the address: a reload keeps it.
  await page.reload()
  await page.getByRole('region', { name: 'curl of vouchers.redeem' }).waitFor()
  expect(page.errors).toEqual([])
})

test('written reference works from a file without a network: anchors, search and both themes', async () => {
  const home = temporaryDir()
  expect((await cli('server openapi --html reference.html', { home, cwd: home })).exit).toBe(0)
  const file = pathToFileURL(join(home, 'reference.html')).href
  const page = await browser.page({ offline: true })
  const loaded: string[] = []
  page.on('request', (request) => loaded.push(request.url()))
  await page.goto(file)
  await page.getByRole('link', { name: 'redeem', exact: true }).click()
  await page.waitForURL(`${file}#vouchers.redeem`)
  await checkLook(page, 'reference-file')
  await page.getByLabel('Find', { exact: true }).fill('teapot')
  await expect.poll(() => page.getByRole('article').count()).toBe(0)
  await page.getByLabel('Find', { exact: true }).fill('TEMPLATE_QUOTA_EXHAUSTED')
  const found = endpoints.filter((it) => it.failures.includes('TEMPLATE_QUOTA_EXHAUSTED')).map(({ id }) => id)
  await expect.poll(() => page.locator('article:not([hidden])').count()).toBe(found.length)
  expect([...new Set(loaded.map((it) => it.replace(/#.*/, '')))]).toEqual([file])
  expect(page.errors).toEqual([])
})

test('written reference shows everything in a browser without scripts', async () => {
  const home = temporaryDir()
  await cli('server openapi --html reference.html', { home, cwd: home })
  const page = await browser.page({ javaScriptEnabled: false })
  await page.goto(pathToFileURL(join(home, 'reference.html')).href)
  expect(await page.getByRole('article').count()).toBe(endpoints.length)
  await page.getByLabel('Find', { exact: true }).waitFor({ state: 'hidden' })
})
