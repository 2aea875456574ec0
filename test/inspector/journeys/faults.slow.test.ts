import { expect, test } from 'vitest'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer } from '../../support/page/server.js'

const browser = useBrowser()
const server = usePageServer()

const open = (path: string) => openPage(browser, server, path)

const heldCalls = (page: TestPage) => page.getByRole('region', { name: 'Held calls' })

/** Begins a call without waiting for its response. */
async function beginRedeem() {
  const { id, credential } = await server.issue()
  return { id, response: server.client.vouchers.redeem({ credential }) }
}

test('hold of the form keeps a call above the filtered stream until its release', async () => {
  const page = await open('/faults')
  await page.getByLabel('What happens').selectOption('Hold until released')
  await page.getByText('The next call of vouchers.redeem will be held after the commit.').waitFor()
  await page.getByLabel('Where').selectOption('before the work')
  await page.getByText('The next call of vouchers.redeem will be held before the work.').waitFor()
  await checkLook(page, 'fault-hold')
  await page.getByRole('button', { name: 'Switch it on' }).click()
  await page.getByRole('listitem').filter({ hasText: 'will be held before the work' }).waitFor()

  await page.getByRole('link', { name: 'Stream' }).click()
  await page.getByLabel('Status').selectOption('Failed')
  const { id, response } = await beginRedeem()
  const held = heldCalls(page).getByRole('listitem')
  await held.filter({ hasText: 'vouchers.redeem is held before the work, since' }).waitFor()
  await checkLook(page, 'held')
  expect(await page.getByRole('row').filter({ hasText: id }).count()).toBe(0)

  await held.getByRole('button', { name: /^Release vouchers\.redeem req_/ }).click()
  expect(await response).toMatchObject({ ok: true })
  await heldCalls(page).waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Show all' }).click()
  const row = page.getByRole('row').filter({ hasText: 'vouchers.redeem' }).filter({ hasText: id })
  await row.getByText('fault', { exact: true }).waitFor()
  expect(page.errors).toEqual([])
})

test('Release all of the faults view lets every held call go on', async () => {
  await server.client.platform.addFault({ endpoint: 'vouchers.redeem', kind: 'hold', times: 3 })
  const page = await open('/faults')
  const calls = [await beginRedeem(), await beginRedeem()]
  await expect.poll(() => heldCalls(page).getByRole('listitem').count()).toBe(2)
  await page.getByText('1 of 3 left').waitFor()
  await checkLook(page, 'faults-held')
  await heldCalls(page).getByRole('button', { name: 'Release all' }).click()
  const responses = await Promise.all(calls.map((it) => it.response))
  expect(responses.map((it) => it.ok)).toEqual([true, true])
  await heldCalls(page).waitFor({ state: 'hidden' })
  await server.client.platform.clearFaults({})
  await page.getByText('No fault is on.').waitFor()
  expect(page.errors).toEqual([])
})

test('keys move through the list of the stream while a call is held above it', async () => {
  const { id } = await server.issue()
  await server.client.platform.addFault({ endpoint: 'vouchers.redeem', kind: 'hold' })
  const page = await open('/?type=vouchers.issue')
  const row = page.getByRole('row').filter({ hasText: id })
  await row.waitFor()
  const { response } = await beginRedeem()
  await heldCalls(page).waitFor()
  await page.keyboard.press('j')
  await expect.poll(() => page.evaluate("document.activeElement.closest('.list tr') !== null")).toBe(true)
  await page.getByRole('button', { name: /^Release/ }).focus()
  await page.keyboard.press('Enter')
  expect(await response).toMatchObject({ ok: true })
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
})

test('forged delivery of the form is marked wherever it is shown, as the cause of the refusal', async () => {
  const page = await open('/faults')
  await page.getByLabel('Target').selectOption('deliveries')
  await page.getByLabel('What happens').selectOption('Have a wrong signature')
  await page.getByText('More: bot, type').click()
  await page.getByLabel('Only this type').selectOption('voucher_redeemed')
  await page.getByText('The next matching delivery will have a wrong signature.').waitFor()
  await checkLook(page, 'fault-deliveries')
  await page.getByRole('button', { name: 'Switch it on' }).click()
  await page.getByRole('listitem').filter({ hasText: 'matching delivery' }).waitFor()
  const { id, response } = await beginRedeem()
  expect(await response).toMatchObject({ ok: true })

  const mark = page.getByText('planted fault: forged')
  await page.getByRole('link', { name: 'Stream' }).click()
  const row = page.getByRole('row').filter({ hasText: id }).filter({ hasText: '401' })
  await row.getByText('fault', { exact: true }).waitFor()
  await checkLook(page, 'forged-stream')
  await row.getByRole('link').click()
  const result = page.getByRole('region', { name: 'Result' })
  await result.getByText('The app refused it with 401. A planted fault made its signature wrong or old.').waitFor()
  await expect.poll(() => mark.count()).toBe(2)
  await checkLook(page, 'forged')
  await page.getByRole('button', { name: 'As sent' }).first().click()
  await expect.poll(() => mark.count()).toBe(3)

  await page.getByRole('link', { name: id }).first().click()
  await page.getByRole('heading', { level: 1, name: 'Voucher' }).waitFor()
  await mark.waitFor()
  await checkLook(page, 'forged-voucher')
  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByRole('row').filter({ hasText: '401' }).filter({ has: mark }).waitFor()
  await checkLook(page, 'forged-deliveries')
  await page.getByRole('link', { name: 'Errors' }).click()
  await mark.first().waitFor()
  expect(page.errors).toEqual([])
})

test('share that is not a percentage is refused in its field; a valid one is listed in percent', async () => {
  const page = await open('/faults')
  const share = page.getByLabel('Share in %')
  const button = page.getByRole('button', { name: 'Switch it on' })
  for (const text of ['150', 'half', '0']) {
    await share.fill(text)
    await page
      .getByRole('alert')
      .filter({ hasText: 'A share is a percentage above 0, at most 100, such as 5.' })
      .waitFor()
    expect([text, await share.getAttribute('aria-invalid'), await button.isDisabled()]).toEqual([text, 'true', true])
  }
  await checkLook(page, 'fault-share')
  await share.fill('2.5')
  await page.getByLabel('How many').fill('')
  await page.getByText('2.5 % of the calls of vouchers.redeem lose their response.').waitFor()
  await button.click()
  await page.getByRole('listitem').filter({ hasText: '2.5 % of the calls of vouchers.redeem' }).waitFor()
  await server.client.platform.clearFaults({})
  expect(page.errors).toEqual([])
})

test('time of the clock is typed in UTC, and refused in its field unless it is later', async () => {
  const page = await open('/clock')
  const field = page.getByLabel('to (UTC)')
  expect(await field.inputValue()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/)
  const button = page.getByRole('button', { name: 'Advance', exact: true })
  for (const [text, reason] of [
    ['31.01.2027', 'Write a time in UTC, such as 2027-01-31 12:00:00Z.'],
    ['2020-01-31 12:00:00Z', 'The clock only moves forward: choose a later time.'],
  ] as const) {
    await field.fill(text)
    await page.getByText(reason, { exact: true }).waitFor()
    expect([text, await button.isDisabled()]).toEqual([text, true])
  }
  await checkLook(page, 'clock-refused')
  await page.getByRole('button', { name: '+1 d' }).click()
  expect(await field.inputValue()).toMatch(/Z$/)
  await field.fill('2090-01-31 12:00:00Z')
  await page.getByText('Until 2090-01-31 12:00:00').waitFor()
  await button.click()
  await page.getByText('The clock moved.').waitFor()
  const clock = await server.client.platform.getClock({})
  expect(clock).toMatchObject({ ok: true, data: { now: expect.stringMatching(/^2090-01-31T12:0/) } })
  expect(page.errors).toEqual([])
})
