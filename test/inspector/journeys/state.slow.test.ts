import { expect, test } from 'vitest'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer, WEBHOOK_SECRET } from '../../support/page/server.js'

const browser = useBrowser()
const server = usePageServer()

const open = (path: string) => openPage(browser, server, path)

const vouchers = async () => {
  const listed = await server.client.platform.vouchers({})
  if (!listed.ok) throw new Error(listed.code)
  return listed.data.pagination.total
}

test('deliveries that the app refused are errors too, and lead to the delivery', async () => {
  server.app.secret = 'another-secret-of-the-app'
  const page = await open('/errors')
  await server.issue()
  const group = page.getByRole('region', { name: 'http_status 401' })
  await group.getByText('The endpoint responded with 401 instead of 2xx.').waitFor()
  await group.getByRole('link', { name: 'voucher_issued' }).first().click()
  await page.getByRole('heading', { name: 'Delivery', exact: true }).waitFor()
  server.app.secret = WEBHOOK_SECRET
  expect(page.errors).toEqual([])
})

test('restore says what is lost before it happens, and returns to the snapshot', async () => {
  await server.issue()
  const page = await open('/state')
  await page.getByText('No snapshot yet.').waitFor()
  await page.getByLabel('Name').fill('before-sale')
  await page.getByRole('button', { name: 'Save the state' }).click()
  await page.getByRole('row').filter({ hasText: 'before-sale' }).waitFor()
  const saved = await vouchers()
  // The clock of the records must be later than the clock of the snapshot.
  await server.client.platform.advanceClock({ seconds: 7200 })
  const { credential } = await server.issue()
  await server.issue()
  await server.client.vouchers.redeem({ credential })
  // The page has read the moved clock.
  await page.getByRole('row').filter({ hasText: 'before-sale' }).getByText('2 h ago').waitFor()
  await page.getByRole('button', { name: 'Restore before-sale' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/^Lost: 2 vouchers, .*1 redemption\.$/).waitFor()
  await dialog
    .getByText(new RegExp(`^Now: ${saved + 2} vouchers, .* In the snapshot: ${saved} vouchers?\\.$`))
    .waitFor()
  await dialog.getByText(/The clock goes back to .* \(2 h ago\)\./).waitFor()
  await checkLook(page, 'state-restore')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(await vouchers()).toBe(saved + 2)
  await page.getByRole('button', { name: 'Restore before-sale' }).click()
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await page.getByText('Restored before-sale.').waitFor()
  expect(await vouchers()).toBe(saved)
  expect(page.errors).toEqual([])
})

test('restore after a reset moves the clock forward, and does not say that nothing is lost', async () => {
  const page = await open('/state')
  await server.client.platform.advanceClock({ seconds: 7200 })
  await page.getByLabel('Name').fill('ahead')
  await page.getByRole('button', { name: 'Save the state' }).click()
  await page.getByRole('row').filter({ hasText: 'ahead' }).waitFor()
  await server.client.platform.reset({})
  await page.getByRole('row').filter({ hasText: 'ahead' }).getByText('in 2 h').waitFor()
  await server.issue()
  await page.getByRole('button', { name: 'Restore ahead' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('everything that the snapshot does not have is lost.').waitFor()
  await dialog.getByText(/^The clock goes forward to .* \(in 2 h\)\.$/).waitFor()
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await page.getByText('Restored ahead.').waitFor()
  await page.getByRole('button', { name: 'Restore ahead' }).click()
  await dialog.getByText(/^The clock (?:stays|goes back to .* \(\d+ s ago\))\.$/).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await server.client.platform.reset({})
  expect(page.errors).toEqual([])
})

test('restore after a reset reads the clock again before it says what is lost', async () => {
  await server.client.platform.advanceClock({ seconds: 7200 })
  await server.client.platform.saveSnapshot({ name: 'later' })
  const page = await open('/state')
  const button = page.getByRole('button', { name: 'Restore later' })
  await button.waitFor()
  const clock = await server.client.platform.getClock({})
  if (!clock.ok) throw new Error(clock.code)
  let stale = 0
  await page.route('**/_platform/v1/clock', (route) => {
    stale += 1
    return route.fulfill({ json: { success: true, data: clock.data } })
  })
  await server.client.platform.reset({})
  await expect.poll(() => stale).toBeGreaterThan(1)
  await page.unroute('**/_platform/v1/clock')
  await button.click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('everything that the snapshot does not have is lost.').waitFor()
  await dialog.getByText(/^The clock goes forward to .* \(in 2 h\)\.$/).waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(page.errors).toEqual([])
})

test('snapshot is replaced and removed only after a confirmation that names it', async () => {
  await server.client.platform.saveSnapshot({ name: 'kept' })
  const page = await open('/state')
  await page.getByLabel('Name').fill('kept')
  await page.getByLabel('Name').press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByText('Replace kept?').waitFor()
  await dialog.getByRole('button', { name: 'Replace' }).click()
  await page.getByText('Saved kept.').waitFor()
  await checkLook(page, 'state')
  await page.getByRole('button', { name: 'Remove kept' }).click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Removed kept.').waitFor()
  await page.getByRole('button', { name: 'Remove kept' }).waitFor({ state: 'hidden' })
  expect(page.errors).toEqual([])
})

test('reset names everything that is lost, and returns to the seed', async () => {
  await server.issue()
  const before = await vouchers()
  const page = await open('/state')
  await page.getByRole('button', { name: 'Reset …' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(new RegExp(`Lost: ${before} vouchers?, `)).waitFor()
  await dialog.getByRole('button', { name: 'Reset' }).click()
  await page.getByText('The server was reset.').waitFor()
  await expect.poll(vouchers).toBe(0)
  expect(page.errors).toEqual([])
})

test('reset of a database that other servers use asks once more, and then says so to the server', async () => {
  const page = await open('/state')
  const bodies: unknown[] = []
  await page.route('**/_platform/v1/reset', (route) => {
    const body: { shared?: boolean } = route.request().postDataJSON()
    bodies.push(body)
    const failure = { success: false, code: 'DATABASE_SHARED', message: 'Other servers may use this database.' }
    return body.shared ? route.continue() : route.fulfill({ status: 409, json: failure })
  })
  await page.getByRole('button', { name: 'Reset …' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click()
  await page.getByText('Other servers may use this database').waitFor()
  await page.getByRole('button', { name: 'Reset for all' }).click()
  await page.getByText('The server was reset.').waitFor()
  expect(bodies).toEqual([{}, { shared: true }])
})

test('fault of any endpoint is described before it is switched on, and then affects its calls', async () => {
  const page = await open('/faults')
  await page.getByLabel('Target').selectOption('apps.list')
  await page.getByLabel('What happens').selectOption('status')
  await page.getByLabel('From number').fill('2')
  await page.getByLabel('Status', { exact: true }).fill('409')
  await page.getByText('The calls of apps.list from number 2 on fail with 409, at most 1 time.').waitFor()
  await checkLook(page, 'fault-form')
  await page.getByRole('button', { name: 'Switch it on' }).click()
  const entry = page.getByRole('listitem').filter({ hasText: 'apps.list' })
  await entry.waitFor()
  const statuses: number[] = []
  for (let call = 0; call < 3; call += 1) statuses.push((await server.client.apps.list({})).status)
  expect(statuses).toEqual([200, 409, 200])
  await page.getByText('No fault is on.').waitFor()
  expect(page.errors).toEqual([])
})

test('fault form takes what to match, and says which field cannot be read', async () => {
  const page = await open('/faults')
  await page.getByText('More: delay').click()
  await page.getByLabel('Only these members of the body').fill('{"reference":')
  await page.getByText('The body to match is a JSON object').waitFor()
  await page.getByLabel('Only these members of the body').fill('{"reference":"till-4"}')
  await page.getByLabel('What happens').selectOption('error')
  await page.getByText('The next matching call of vouchers.redeem will fail with 503.').waitFor()
  await page.getByRole('button', { name: 'Switch it on' }).click()
  await page.getByRole('listitem').filter({ hasText: 'matching call' }).waitFor()
  const { credential } = await server.issue()
  const once = { retry: { tries: 1 } }
  expect(await server.client.vouchers.redeem({ credential, reference: 'till-4' }, once)).toMatchObject({ status: 503 })
  expect(await server.client.vouchers.redeem({ credential, reference: 'till-5' }, once)).toMatchObject({ ok: true })
})

test('errors are grouped by code with their meaning, and lead to the call', async () => {
  const page = await open('/errors')
  const { credential } = await server.issue()
  for (let call = 0; call < 3; call += 1) await server.client.vouchers.redeem({ credential })
  const group = page.getByRole('region', { name: 'VOUCHER_ALREADY_REDEEMED' })
  await group.getByText('2 ×').waitFor()
  await group.getByText('The voucher is already redeemed. See details.redemption_id').waitFor()
  await checkLook(page, 'errors')
  await group.getByRole('link', { name: 'vouchers.redeem' }).first().click()
  await page.getByRole('heading', { name: 'vouchers.redeem', exact: true }).waitFor()
  await page.getByText('VOUCHER_ALREADY_REDEEMED').first().waitFor()
  expect(page.errors).toEqual([])
})
