import { expect, it } from 'vitest'
import { cli, stub, success } from '../../support/cli/cli.js'

const text = 'first line\n\tsecond line'
const message = { message_id: 1, date: 1_800_000_000, chat: { id: 'chat_1', type: 'private' }, text }

it.each([
  ['bots send', ['bots', 'send', '--chat', 'chat_1'], { VOUCHERCTL_BOT_TOKEN: 'sbot_x' }],
  ['platform users send', ['platform', 'users', 'send', 'chat_1'], { VOUCHERCTL_OPERATOR_KEY: 'opk_x' }],
] as const)('the command %s sends --text with its line feeds and tabs unchanged', async (_, command, env) => {
  const { baseUrl, received } = await stub(() => success(message))
  const { exit, stdout } = await cli([...command, '--text', text, '--base-url', baseUrl, '--json'], { env })
  expect([exit, JSON.parse(stdout).text]).toEqual([0, text])
  expect(received[0]?.body).toMatchObject({ text })
})

it('platform chats messages prints a message with line feeds on one line of its table', async () => {
  const page = {
    items: [message, { ...message, message_id: 2 }],
    pagination: { page: 1, limit: 20, total: 2, pages: 1 },
  }
  const { baseUrl } = await stub(() => success(page))
  const command = ['platform', 'chats', 'messages', 'chat_1', '--base-url', baseUrl]
  const { exit, stdout } = await cli(command, { env: { VOUCHERCTL_OPERATOR_KEY: 'opk_x' } })
  const rows = stdout.trimEnd().split('\n')
  expect([exit, rows.length]).toEqual([0, 3])
  expect(rows.filter((row) => row.includes('first line second line'))).toHaveLength(2)
})
