import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../../src/client/index.js'
import { useBrowser } from '../../support/page/browser.js'
import { checkLook } from '../../support/page/journey.js'
import { openPage } from '../../support/page/open-page.js'
import { usePageServer, WEBHOOK_SECRET } from '../../support/page/server.js'
import { standaloneServer } from '../../support/server/server.js'
import { botBody, serial } from '../../support/server/tenant.js'

const browser = useBrowser()
const server = usePageServer()

/** Creates an approved bot without a webhook, which gets every type of update about messages. */
async function newBot(overrides: Parameters<typeof botBody>[0] = {}) {
  const applied = await server.client.bots.apply(botBody(overrides))
  if (!applied.ok) throw new Error(applied.code)
  const { id } = applied.data
  await server.client.platform.approveBot({ botId: id })
  return { id, path: `/bots/${id}` }
}

async function newChat(botId: string) {
  const started = await server.client.platform.createChat({ bot_id: botId, user_id: `user-${serial()}` })
  if (!started.ok) throw new Error(started.code)
  return started.data
}

test('user sets a webhook with a secret of the page, and a message arrives signed with it', async () => {
  const { id, path } = await newBot()
  const page = await openPage(browser, server, path)
  const form = page.getByRole('region', { name: 'Webhook' })
  await form.getByText('The bot has no webhook').waitFor()
  await form.getByText('voucherctl login --local --account acme', { exact: true }).waitFor()
  await form.getByText(`voucherctl webhook set ${id} --url`).waitFor()
  await checkLook(page, 'bot-without-webhook')
  await form.getByLabel('URL').fill(server.app.url)
  await form.getByLabel('ping').uncheck()
  await form.getByRole('button', { name: 'Set the webhook' }).click()
  const line = await form.getByText(/^export VOUCHERCTL_WEBHOOK_SECRET=/).textContent()
  await form.getByText(`Updates go to ${new URL(server.app.url).origin}/…`).waitFor()
  server.app.secret = line?.split('=')[1] ?? ''
  expect(server.app.secret).toMatch(/^[0-9a-f]{48}$/)
  await checkLook(page, 'bot-with-webhook')
  const chat = await newChat(id)
  await server.client.platform.sendAsUser({ chatId: chat.id, text: 'One coffee' })
  await page.getByText('delivered', { exact: true }).nth(1).waitFor()
  const shown = await server.client.platform.bot({ botId: id })
  expect(shown).toMatchObject({ data: { delivery_mode: 'webhook' } })
  expect(shown.ok && shown.data.allowed_updates).toEqual([
    'message',
    'my_chat_member',
    'friend_request',
    'inline_query',
  ])
  await page.reload()
  await form.getByText('Updates go to').waitFor()
  expect(await page.content()).not.toContain(server.app.secret)
  server.app.secret = WEBHOOK_SECRET
  expect(page.errors).toEqual([])
})

test('user deletes the webhook of a bot, and sets another one without changing its secret', async () => {
  const { id, path } = await newBot()
  await server.client.webhook.set({ botId: id, url: server.app.url, secret_token: WEBHOOK_SECRET })
  const page = await openPage(browser, server, path)
  const form = page.getByRole('region', { name: 'Webhook' })
  await form.getByLabel('URL').fill(`${server.app.url}/second`)
  await form.getByLabel('New secret').fill('')
  await form.getByRole('button', { name: 'Set the webhook' }).click()
  await form.getByText('with the secret that it had').waitFor()
  const info = await server.client.platform.callAsBot({ botId: id, endpoint: 'webhook.info', input: {} })
  expect(info).toMatchObject({ data: { body: { data: { delivery_mode: 'webhook' } } } })
  await newChat(id)
  await page.getByText('delivered', { exact: true }).first().waitFor()
  await form.getByRole('button', { name: 'Delete the webhook' }).click()
  await form.getByText('The bot has no webhook').waitFor()
  expect(page.errors).toEqual([])
})

test('refused URL of this machine says with which flag the server must be started', async () => {
  const { path } = await newBot()
  const page = await openPage(browser, server, path)
  const form = page.getByRole('region', { name: 'Webhook' })
  await form.getByLabel('URL').fill('http://localhost.example:3456/hook')
  await form.getByRole('button', { name: 'Set the webhook' }).click()
  const refusal = form.getByRole('alert')
  await refusal.getByText('WEBHOOK_URL_REFUSED').waitFor()
  expect(await refusal.textContent()).toContain('--dev-webhook-loopback 3456')
  await checkLook(page, 'bot-refused')
  expect(await form.getByLabel('URL').inputValue()).toBe('http://localhost.example:3456/hook')
})

test('views of a bot and of its chat follow a webhook that somebody else sets and deletes', async () => {
  const { id, path } = await newBot()
  const chat = await newChat(id)
  const [page, beside] = [await openPage(browser, server, path), await openPage(browser, server, `/chats/${chat.id}`)]
  await page.getByText('The bot has no webhook').waitFor()
  await beside.getByText('The bot has no webhook').waitFor()
  await server.client.webhook.set({ botId: id, url: server.app.url, secret_token: WEBHOOK_SECRET })
  await page.getByText('Updates go to').waitFor()
  await beside.getByText('The bot has no webhook').waitFor({ state: 'detached' })
  await server.client.webhook.delete({ botId: id })
  await page.getByText('The bot has no webhook').waitFor()
  await beside.getByText('The bot has no webhook').waitFor()
})

test('bot view shows a bot that another tool disables, renames and links', async () => {
  const { id, path } = await newBot()
  const page = await openPage(browser, server, path)
  await page.getByText('active', { exact: true }).first().waitFor()
  await server.client.platform.disableBot({ botId: id })
  await page.getByText('disabled', { exact: true }).first().waitFor()
  await server.client.platform.enableBot({ botId: id })
  await server.client.bots.update({ botId: id, name: 'Tea bot' })
  await page.getByRole('heading', { name: 'Tea bot' }).waitFor()
  await page.getByText('account id').waitFor()
})

test('unknown bot and unknown chat are one sentence below a heading', async () => {
  for (const [path, heading] of [
    ['/bots/bot_unknown', 'Bot'],
    ['/chats/chat_unknown', 'Chat'],
  ] as const) {
    const page = await openPage(browser, server, path)
    await page.getByRole('heading', { name: heading, exact: true }).waitFor()
    // The heading stands there while the record loads, too.
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').locator('p').count()).toBe(1)
    expect(await page.getByRole('alert').getByRole('button').count()).toBe(0)
    expect(await page.locator('main article section').count()).toBe(0)
    await checkLook(page, `unknown-${heading.toLowerCase()}`)
  }
})

test('review of a bot shows where its updates would go and its account', async () => {
  const applied = await server.client.bots.apply(botBody({ name: 'Waiting bot' }))
  if (!applied.ok) throw new Error(applied.code)
  const page = await openPage(browser, server, '/reviews')
  const review = page.locator('.review').filter({ hasText: 'Waiting bot' })
  await review.getByText('allowed updates').waitFor()
  await review.getByText('acme').first().waitFor()
})

test('example leads to its bot, whose webhook the user sets without a terminal', async () => {
  const { port } = new URL(server.app.url)
  const { baseUrl, operatorKey, close } = await standaloneServer({ webhookLoopbackPorts: [Number(port)] })
  onTestFinished(close)
  const page = await openPage(browser, { client: createClient({ baseUrl, token: () => operatorKey }) })
  await page.getByRole('button', { name: 'Plant the example' }).click()
  await page.getByRole('link', { name: 'set its webhook' }).click()
  const form = page.getByRole('region', { name: 'Webhook' })
  await form.getByLabel('voucher redeemed').waitFor()
  expect(await form.getByRole('checkbox', { checked: true }).count()).toBe(8)
  await form.getByLabel('URL').fill(server.app.url)
  await form.getByRole('button', { name: 'Set the webhook' }).click()
  await form.getByText(`Updates go to ${new URL(server.app.url).origin}/…`).waitFor()
  await page.getByRole('link', { name: 'Start one' }).click()
  await page.getByRole('button', { name: 'Start a chat' }).click()
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  await page.getByText('Refused').first().waitFor()
  expect(page.errors).toEqual([])
})
