import { expect, test } from 'vitest'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { HOSTILE, usePageServer, WEBHOOK_SECRET } from '../../support/page/server.js'
import { serial } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

/** Starts a chat of a new user by the page, which then shows it. */
async function startChat() {
  const page = await openPage(browser, server, '/chats')
  const user = `user-${serial()}`
  await page.getByLabel('User', { exact: true }).fill(user)
  await page.getByRole('button', { name: 'Start a chat' }).click()
  await page.getByLabel(`Message as ${user}`).waitFor()
  await page.waitForURL(/\/chats\/[^/]+$/)
  const chatId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  return { page, user, chatId }
}

test('message of the user shows its update, the delivery and the response of the receiver', async () => {
  const { page, user } = await startChat()
  await page.getByLabel(`Message as ${user}`).fill('One café, please')
  await page.getByText('platform.sendAsUser').first().click()
  await page.getByText('"text": "One café, please"').first().waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('log').getByText('One café, please').waitFor()
  const step = page.getByRole('listitem').filter({ hasText: /Update \d+ message/ })
  await step.first().waitFor()
  await page.getByRole('region', { name: /^Body of the response, Accepted/ }).waitFor()
  expect(server.app.bodies.map(String)).toContainEqual(expect.stringContaining('One café, please'))
  expect(page.errors).toEqual([])
})

test('voucher of the bot appears in the chat with QR code and redeem code, as its user sees it', async () => {
  const { page, chatId, user } = await startChat()
  const { bots } = server.client
  await bots.send({ chat_id: chatId, text: `Hello ${HOSTILE}` })
  const issued = await bots.issue({ chat_id: chatId, template_id: 'tpl_coffee', external_issue_id: `bot-${serial()}` })
  if (!issued.ok) throw new Error(issued.code)
  const code = issued.data.credentials.find(({ type }) => type === 'redeem_code')?.value ?? ''
  const talk = page.getByRole('log')
  await talk.getByText(code).waitFor()
  await talk.getByRole('img', { name: 'QR code' }).waitFor()
  await talk.getByText('<script>', { exact: false }).waitFor()
  expect(await page.evaluate('window.hostile')).toBeUndefined()
  await page.getByText('bots.issue', { exact: true }).waitFor()
  await page
    .getByText(/Update \d+ voucher_issued/)
    .first()
    .waitFor()
  await page.getByLabel(`Message as ${user}`).fill('Thank you')
  await page.getByLabel(`Message as ${user}`).press('Enter')
  await talk.getByText('Thank you').waitFor()
  await checkLook(page, 'chat')
  await page.getByRole('link', { name: 'Chats' }).click()
  await page.getByRole('link', { name: user }).waitFor()
  await checkLook(page, 'chats')
  expect(page.errors).toEqual([])
})

test('user blocks the bot, whose message is refused, and lifts the block', async () => {
  const { page, user, chatId } = await startChat()
  await page.getByRole('button', { name: 'Block the bot' }).click()
  await page.getByText(`${user} has blocked the bot`).waitFor()
  expect(await server.client.bots.send({ chat_id: chatId, text: 'Hello' })).toMatchObject({ code: 'BOT_BLOCKED' })
  await page.getByLabel(`Message as ${user}`).fill('Are you there?')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('alert').filter({ hasText: /block/i }).waitFor()
  await page.getByRole('button', { name: 'Lift the block' }).click()
  await page.getByRole('button', { name: 'Block the bot' }).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('log').getByText('Are you there?').waitFor()
})

test('receiver that refuses the update of a chat shows its response beside the message', async () => {
  const { page, user } = await startChat()
  server.app.secret = 'a-secret-of-the-app'
  await page.getByLabel(`Message as ${user}`).fill('Hello')
  await page.getByLabel(`Message as ${user}`).press('Enter')
  const step = page.getByRole('listitem').filter({ hasText: /Update \d+ message/ })
  await step.getByText('401').first().waitFor()
  await step.getByText('unknown signature').first().waitFor()
  await page.getByText('failed', { exact: true }).first().waitFor()
  server.app.secret = WEBHOOK_SECRET
  await checkLook(page, 'chat-refused')
})

test('chat lists its own deliveries, not those of another chat with the same bot', async () => {
  const { page, user } = await startChat()
  const other = await startChat()
  server.app.secret = 'a-secret-of-the-app'
  await page.getByLabel(`Message as ${user}`).fill('Only here')
  await page.getByLabel(`Message as ${user}`).press('Enter')
  await page.getByText('failed', { exact: true }).first().waitFor()
  server.app.secret = WEBHOOK_SECRET
  await other.page.getByLabel(`Message as ${other.user}`).fill('And here')
  await other.page.getByLabel(`Message as ${other.user}`).press('Enter')
  const step = other.page.getByRole('listitem').filter({ hasText: /Update \d+ message/ })
  await step.first().waitFor()
  expect(await step.count()).toBe(1)
  expect(await other.page.getByText('failed', { exact: true }).count()).toBe(0)
})

test('unsent message is still there after a step back, and after a block by another tool', async () => {
  const { page, user, chatId } = await startChat()
  const field = page.getByLabel(`Message as ${user}`)
  await field.fill('Half a mess')
  await server.client.platform.blockChat({ chatId })
  await page.getByText(`${user} has blocked the bot`).waitFor()
  expect(await field.inputValue()).toBe('Half a mess')
  await page.getByRole('link', { name: 'Faults' }).click()
  await page.getByRole('heading', { name: 'Faults' }).waitFor()
  await page.goBack()
  await field.waitFor()
  expect(await field.inputValue()).toBe('Half a mess')
  await server.client.platform.unblockChat({ chatId })
  await page.getByRole('button', { name: 'Block the bot' }).waitFor()
  expect(await field.inputValue()).toBe('Half a mess')
})
