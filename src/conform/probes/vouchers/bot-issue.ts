import { contract } from '../../../contract/index.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { chatIssue, delivered, issueIntoChat, ownBot } from './shared.js'

const { issue, send } = contract.bots
const needs: readonly Need[] = ['bot', 'chat', 'template']
const probe = probesOf('bot-issue', { needs, specified: ['private-chat', 'unlinked-bot'] })

/** Sends a message into the user's chat; returns its id. */
async function messageId(it: ProbeContext): Promise<number> {
  const chat_id = it.resources.offer.chat ?? it.resources.lacking('chat')
  return it.needs(await it.call(send, { chat_id, text: 'conform' }), 'a message in the chat').message_id
}

export const botIssue = [
  probe('private-chat', 'A bot issues a voucher into a private chat.', async (it) => {
    const { response } = await chatIssue(it)
    if (response.status === 403 || response.status === 404) {
      it.notApplicable("Needs a bot of the token's application, with the scope vouchers:issue, and a chat of the bot.")
    }
    it.succeeds(response)
  }),
  probe('delivery', 'The issue names the chat and the message in delivery.', async (it) => {
    const { delivery } = await delivered(it)
    const observed = [delivery?.chat_id, typeof delivery?.message_id]
    it.equals('chat_id, and type of message_id', observed, [it.resources.offer.chat, 'number'])
  }),
  probe(
    'recipient',
    'All vouchers in a chat have one recipient, the user of the chat.',
    { vouchers: 1 },
    async (it) => {
      const first = await delivered(it)
      const second = it.needs((await issueIntoChat(it)).response, 'a voucher in the chat')
      it.equals('recipientUserId', second.recipientUserId, first.recipientUserId)
    },
  ),
  probe('repeated-delivery', 'The delivery of a repeated issue names the first message.', async (it) => {
    const { delivery } = await delivered(it)
    const { input } = await chatIssue(it)
    it.equals('delivery', it.needs(await it.call(issue, input), 'a repeated issue').delivery, delivery)
  }),
  probe('repeated-message', 'A repeated issue writes no second message.', async (it) => {
    await delivered(it)
    const { input } = await chatIssue(it)
    const first = await messageId(it)
    const second = await messageId(it)
    if (second !== first + 1) it.notApplicable('Needs a chat whose messages are counted, and in which nobody writes.')
    it.needs(await it.call(issue, input), 'a repeated issue')
    let expected = second + 1
    let next = await messageId(it)
    if (next !== expected) {
      // The user may have written in between: only a second observation counts.
      it.needs(await it.call(issue, input), 'a repeated issue')
      expected = next + 1
      next = await messageId(it)
    }
    it.equals('id of the next message', next, expected)
  }),
  probe(
    'unlinked-bot',
    'A bot that is not linked to an application cannot issue.',
    { needs: ['jwt', ...needs] },
    async (it) => {
      const { template_id } = (await chatIssue(it)).input
      const chat_id = it.resources.offer.chat
      const token = (await ownBot(it)).token ?? it.notApplicable('Needs the token of a bot.')
      const input = { chat_id, template_id, external_issue_id: it.resources.name() }
      const { status } = await it.call(issue, input, { as: { credential: token } })
      it.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
    },
  ),
]
