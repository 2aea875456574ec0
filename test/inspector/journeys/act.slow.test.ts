import { expect, test } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { type TestPage, useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer } from '../../support/page/server.js'
import { standaloneServer } from '../../support/server/server.js'
import { botBody, serial, templateBody } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

const actions = (page: TestPage) => page.getByRole('region', { name: /^Actions on/ })

/** Opens the form of an action. */
async function choose(page: TestPage, name: string) {
  await actions(page)
    .getByRole('button', { name: `${name} …` })
    .click()
}

const focusedText = (page: TestPage) => page.evaluate('document.activeElement.textContent')

const press = (page: TestPage, name: string) => actions(page).getByRole('button', { name, exact: true }).click()

/** Creates a draft of the application by its token. */
async function draft(): Promise<{ id: string; name: string }> {
  const created = await server.client.templates.create(templateBody({ name: `Cake ${serial()}` }))
  if (!created.ok) throw new Error(created.code)
  return created.data
}

test('code of a voucher is hidden until asked for, and its history says that it was shown', async () => {
  const { id, credential } = await server.issue()
  const page = await openPage(browser, server, `/vouchers/${id}`)
  await actions(page).waitFor()
  expect(await page.getByText(credential.value).count()).toBe(0)
  await press(page, 'Show the code')
  await page.getByText('the log will say that you saw it').waitFor()
  await page.getByText(credential.value).waitFor()
  await page.getByRole('img', { name: 'QR code' }).waitFor()
  await page
    .getByRole('listitem')
    .filter({ hasText: /^Shown/ })
    .waitFor()
  await checkLook(page, 'voucher-code')
  expect(page.errors).toEqual([])
})

test('voucher is verified, redeemed and reversed, and a refusal is shown in place', async () => {
  const { id } = await server.issue()
  const page = await openPage(browser, server, `/vouchers/${id}`)
  await press(page, 'Verify')
  await page.getByText('It can be redeemed.').waitFor()
  expect(await focusedText(page)).toContain('It can be redeemed.')
  await choose(page, 'Reverse')
  await page.getByText('Nothing can be reversed: the voucher is not redeemed.').waitFor()
  await choose(page, 'Redeem')
  expect(await page.evaluate('document.activeElement.tagName')).toBe('INPUT')
  await page.getByLabel('Reference').fill('order-of-the-page')
  const call = page.getByRole('region', { name: 'The call that a program makes' })
  expect(await call.textContent()).toMatch(/^POST \/api\/v1\/open-platform\/vouchers\/redeem[^]*order-of-the-page/)
  await checkLook(page, 'voucher-redeem')
  await press(page, 'Redeem')
  await page.getByText(/Redeemed as rdm_/).waitFor()
  await page
    .getByRole('listitem')
    .filter({ hasText: /^Redeemed/ })
    .getByText('by the operator')
    .waitFor()
  await press(page, 'Redeem')
  await page.getByRole('alert').filter({ hasText: 'VOUCHER_ALREADY_REDEEMED' }).waitFor()
  await checkLook(page, 'voucher-refused')
  await choose(page, 'Reverse')
  await page.getByLabel('Reason (optional)').fill('wrong article')
  await press(page, 'Reverse')
  await page.getByText(/Reversed rdm_/).waitFor()
  await page
    .getByRole('listitem')
    .filter({ hasText: /^Reversed/ })
    .getByText('wrong article')
    .waitFor()
  const { ok, data } = (await server.client.platform.voucher({ voucherId: id })) as never as {
    ok: boolean
    data: { events: { type: string; reference: string | null; by_operator: boolean }[] }
  }
  expect(ok).toBe(true)
  expect(data.events.map(({ type, by_operator }) => [type, by_operator])).toEqual([
    ['issued', false],
    ['verified', true],
    ['redeemed', true],
    ['reversed', true],
  ])
  await page.goto(`${server.baseUrl}/_platform/ui/?voucher=${id}&type=vouchers.reverse`)
  await page.getByRole('row').filter({ hasText: 'operator' }).waitFor()
  expect(page.errors).toEqual([])
})

test('refusal of an action ends when the state of its voucher allows it', async () => {
  const { id, credential } = await server.issue()
  const page = await openPage(browser, server, `/vouchers/${id}`)
  await choose(page, 'Reverse')
  await page.getByText('Nothing can be reversed: the voucher is not redeemed.').waitFor()
  await server.client.vouchers.redeem({ credential })
  await page.getByLabel('Reason (optional)').waitFor()
  expect(page.errors).toEqual([])
})

test('template goes from draft to ten issued vouchers, approved with its values in sight', async () => {
  const { id, name } = await draft()
  const page = await openPage(browser, server, '/templates')
  await page.getByRole('link', { name }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
  await page.getByText('30 days from the issue').waitFor()
  await choose(page, 'Issue')
  await page.getByText('Only an active template is issued; this one is draft.').waitFor()
  await press(page, 'Submit')
  await page.getByText('Submitted: it can be approved or rejected.').waitFor()
  await actions(page).getByRole('button', { name: 'Approve' }).waitFor()
  await checkLook(page, 'template-review')
  await press(page, 'Approve')
  await page.getByText('Approved.').waitFor()
  await choose(page, 'Issue')
  await actions(page).getByLabel('Vouchers').selectOption('Ten')
  await page.getByLabel('Recipient').fill('user-of-ten')
  await press(page, 'Issue')
  await page.getByText('10 issued:').waitFor()
  await page.locator('.current').getByText('10 of 1,000 issued').waitFor()
  await checkLook(page, 'template-issued')
  const listed = await server.client.platform.vouchers({ template_id: id })
  const recipients = listed.ok ? listed.data.items.map((it) => it.recipientUserId) : []
  expect(new Set(recipients)).toEqual(new Set(Array.from({ length: 10 }, (_, index) => `user-of-ten-${index + 1}`)))
  await actions(page).getByRole('listitem').first().getByRole('link').click()
  await page.getByRole('heading', { level: 1, name: 'Voucher' }).waitFor()
  expect(page.errors).toEqual([])
})

test('review shows all values of a template and a bot, and rejects both with a reason', async () => {
  const { id, name } = await draft()
  await server.client.templates.submit({ templateId: id })
  const applied = await server.client.bots.apply(botBody({ name: 'Tea bot', description: 'Sells tea' }))
  if (!applied.ok) throw new Error(applied.code)
  const page = await openPage(browser, server, '/reviews')
  const review = (of: string) => page.locator('section.review').filter({ has: page.getByRole('link', { name: of }) })
  await review(name).getByText('30 days from the issue').waitFor()
  await review('Tea bot').getByText(applied.data.username).waitFor()
  await review(name).getByRole('button', { name: 'Reject …' }).click()
  await review(name).getByLabel('Code').fill('unclear_terms')
  await review(name).getByLabel('Reason').fill('Say which cake')
  await checkLook(page, 'reviews-reject')
  await review(name).getByRole('button', { name: 'Reject', exact: true }).click()
  await review(name).waitFor({ state: 'detached' })
  await review('Tea bot').getByRole('link', { name: 'Tea bot' }).click()
  await page.getByRole('heading', { level: 1, name: 'Tea bot' }).waitFor()
  await choose(page, 'Reject')
  await page.getByLabel('Reason').fill('No tea here')
  await press(page, 'Reject')
  // A bot without actions is decided; without them only its values have the reason.
  await actions(page).waitFor({ state: 'detached' })
  await page.getByText('No tea here').waitFor()
  await page.goto(`${server.baseUrl}/_platform/ui/templates/${id}`)
  await page.locator('.current').getByText('Say which cake').waitFor()
  expect(page.errors).toEqual([])
})

test('bot shows its values, its deliveries and its chats', async () => {
  const user = `user-${serial()}`
  await server.client.platform.createChat({ bot_id: 'bot_shop', user_id: user })
  const page = await openPage(browser, server, '/bots/bot_shop')
  await page.getByRole('heading', { level: 1, name: 'Shop bot' }).waitFor()
  await page
    .getByText(/Update \d+ my_chat_member/)
    .first()
    .waitFor()
  await checkLook(page, 'bot')
  await page.getByRole('link', { name: user }).click()
  await page.getByLabel(`Message as ${user}`).waitFor()
  expect(page.errors).toEqual([])
})

test('clock jumps to the expiry of a voucher, which the page confirms in its state', async () => {
  const { id } = await server.issue()
  const page = await openPage(browser, server, `/vouchers/${id}`)
  await choose(page, 'Jump to its expiry')
  await press(page, 'Jump to its expiry')
  await page.locator('.current').getByText('expired', { exact: true }).first().waitFor()
  expect(page.errors).toEqual([])
})

test('empty server plants the example, whose bot delivers a voucher into a chat', async () => {
  const empty = await standaloneServer({})
  const { baseUrl, operatorKey } = empty
  const tokens: Record<string, string> = { operator: operatorKey }
  const client = createClient({ baseUrl, token: (kind) => tokens[kind] })
  const page = await openPage(browser, { client })
  await page.getByRole('button', { name: 'Plant the example' }).waitFor()
  await checkLook(page, 'example')
  await page.getByRole('button', { name: 'Plant the example' }).click()
  await page.getByText('they are shown only once').waitFor()
  const lines = await page.getByText(/^export VOUCHERCTL_/).allTextContents()
  expect(lines.at(-1)).toContain('VOUCHERCTL_WEBHOOK_SECRET')
  const variables = Object.fromEntries(lines.map((it) => it.slice('export '.length).split('=')))
  expect(variables).toMatchObject({ VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: expect.stringMatching(/^sop_/) })
  tokens.bot = variables.VOUCHERCTL_BOT_TOKEN
  tokens.token = variables.VOUCHERCTL_TOKEN
  await checkLook(page, 'example-planted')
  const templates = await client.templates.list({})
  const templateId = templates.ok ? (templates.data.items[0]?.id ?? '') : ''
  await page.getByRole('link', { name: 'start a chat with its bot' }).click()
  await page.getByText('No chats here').waitFor()
  expect(await page.getByText(/^export VOUCHERCTL_/).allTextContents()).toEqual(lines)
  await page.getByRole('button', { name: 'Start a chat' }).click()
  await page.getByText('it gets its updates when it polls').waitFor()
  await page.waitForURL(/\/chats\/[^/]+$/)
  const chatId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const issued = await client.bots.issue({ chat_id: chatId, template_id: templateId, external_issue_id: 'first' })
  expect(issued.ok).toBe(true)
  await page.getByRole('log').getByRole('img', { name: 'QR code' }).waitFor()
  await page.getByRole('link', { name: 'Open the voucher' }).click()
  await choose(page, 'Redeem')
  await press(page, 'Redeem')
  await page.getByText(/Redeemed as rdm_/).waitFor()
  expect(page.errors).toEqual([])
  // The server reports a reset and its change of the clock together.
  await client.platform.reset({})
  await page.getByRole('link', { name: 'Stream' }).click()
  await page.getByRole('button', { name: 'Plant the example' }).waitFor()
  await empty.close()
})
