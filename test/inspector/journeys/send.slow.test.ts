import { expect, test } from 'vitest'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer } from '../../support/page/server.js'
import { runTest } from '../../support/recorder/run-test.js'

const browser = useBrowser()
const server = usePageServer()

/** Opens the form of a call in the API view. */
async function openForm(id: string) {
  const page = await openPage(browser, server, `/reference?find=${id}`)
  const form = page.getByRole('form', { name: `Send ${id}` })
  await form.waitFor()
  return { page, form, result: form.getByRole('status') }
}

test('API view sends a call as an application, and shows the response beside its schema', async () => {
  const redeem = await openForm('vouchers.redeem')
  await checkLook(redeem.page, 'send-form')
  const { page, form, result } = await openForm('vouchers.issue')
  await expect.poll(() => form.getByLabel('As application').inputValue()).toBe('app_shop')
  await form.getByLabel('template_id required').fill('tpl_coffee')
  await form.getByLabel('external_issue_id required').fill('sent-from-the-page')
  await form.getByRole('button', { name: 'Send' }).click()
  await result.getByText('201', { exact: true }).waitFor()
  await result.getByRole('region', { name: 'Body of the response' }).getByText('"sent-from-the-page"').waitFor()
  await result.getByRole('cell', { name: 'externalIssueId' }).waitFor()
  await checkLook(page, 'send')
  // The unchanged call has the same key.
  await form.getByRole('button', { name: 'Send' }).click()
  await result.getByText('idempotent-replayed').waitFor()
  // A changed one gets another key.
  await form.getByLabel('recipient_user_id required').fill('another user')
  await form.getByRole('button', { name: 'Send' }).click()
  await result
    .getByText(/^\d{3}$/)
    .first()
    .waitFor()
  await result.locator('.code').waitFor()
  await checkLook(page, 'send-refused')
  // What was typed stays while other views are visited.
  await page.getByRole('link', { name: 'Clock' }).click()
  await page.getByRole('link', { name: 'API' }).click()
  await page.getByRole('searchbox', { name: 'Endpoint, path, scope' }).fill('vouchers.issue')
  await expect.poll(() => form.getByLabel('external_issue_id required').inputValue()).toBe('sent-from-the-page')
  expect(page.errors).toEqual([])
})

test.each([
  ['bot', 'webhook.info', 'As bot', {}, '200'],
  ['account', 'apps.create', 'As account', { 'name required': 'Made by the account' }, '201'],
  ['operator', 'platform.createChat', null, { 'bot_id required': 'bot_shop' }, '200'],
] as const)('API view makes a call as %s: %s', async (_kind, id, as, typed, status) => {
  const { page, form, result } = await openForm(id)
  if (as) await expect.poll(() => form.getByLabel(as).inputValue()).not.toBe('')
  for (const [label, text] of Object.entries(typed)) await form.getByLabel(label).fill(text)
  await form.getByRole('button', { name: 'Send' }).click()
  await result.getByText(status, { exact: true }).waitFor()
  expect(page.errors).toEqual([])
})

test('API view asks before an irreversible call, which it copies as a test that passes', async () => {
  const { page, form, result } = await openForm('apps.unlinkBot')
  await expect.poll(() => form.getByLabel('As account').inputValue()).toBe('acme')
  await form.getByLabel('appId required').fill('app_shop')
  await form.getByLabel('botId required').fill('bot_shop')
  await form.getByRole('button', { name: 'Send' }).click()
  const question = page.getByRole('dialog')
  await question.getByText('can no longer issue vouchers').waitFor()
  await question.getByRole('button', { name: 'Cancel' }).click()
  await question.waitFor({ state: 'detached' })
  expect(await result.textContent()).toBe('')
  await form.getByRole('button', { name: 'Send' }).click()
  await question.getByRole('button', { name: 'Send' }).click()
  await result.getByText('200', { exact: true }).waitFor()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await result.getByRole('button', { name: 'as test' }).click()
  await page.getByText('Copied.').waitFor()
  const text = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(text).toContain("test('apps.unlinkBot responds with 200'")
  expect(await runTest(text)).toMatchObject({ exitCode: 0 })
  expect(page.errors).toEqual([])
})

test('API view names the command of a call for a terminal, and refuses an incomplete path', async () => {
  for (const [id, command] of [
    ['platform.requests', 'voucherctl api GET /_platform/v1/requests'],
    ['bots.regenerateToken', 'voucherctl api POST /api/v1/bots/my/bot_'],
  ] as const) {
    const page = await openPage(browser, server, `/reference?find=${id}`)
    await page.getByText(command).waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0)
  }
  const { form } = await openForm('platform.blockChat')
  await form.getByLabel('chatId required').fill('')
  await form.getByRole('button', { name: 'Send' }).click()
  await form.getByText('chatId is part of the path: fill it in.').waitFor()
})
