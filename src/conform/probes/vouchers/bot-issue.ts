import { contract } from '../../../contract/index.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { chatIssue, delivered, issueIntoChat, ownBot } from './shared.js'

const { issue, send } = contract.bots
const needs: readonly Need[] = ['bot', 'chat', 'template']
const probe = probesOf('bot-issue', { kind: 'money', needs })
const issuing = probe.with({ vouchers: 1 })
const accountProbe = probe.with({ needs: ['jwt', ...needs] })

async function messageId(run: ProbeContext): Promise<number> {
  const chat_id = run.resources.offer.chat ?? run.resources.lacking('chat')
  return run.needs(await run.call(send, { chat_id, text: 'conform' }), 'a message in the chat').message_id
}

export const botIssue = [
  probe.specified(1, 'private-chat', 'A bot issues a voucher into a private chat.', async (run) => {
    const { response } = await chatIssue(run)
    if (response.status === 403 || response.status === 404) {
      run.notApplicable("Needs a bot of the token's application, with the scope vouchers:issue, and a chat of the bot.")
    }
    run.succeeds(response)
  }),
  probe(2, 'delivery', 'The issue names the chat and the message in delivery.', async (run) => {
    const { delivery } = await delivered(run)
    const observed = [delivery?.chat_id, typeof delivery?.message_id]
    run.equals('chat_id, and type of message_id', observed, [run.resources.offer.chat, 'number'])
  }),
  issuing(2, 'recipient', 'All vouchers in a chat have one recipient, the user of the chat.', async (run) => {
    const first = await delivered(run)
    const second = run.needs((await issueIntoChat(run)).response, 'a voucher in the chat')
    run.equals('recipientUserId', second.recipientUserId, first.recipientUserId)
  }),
  probe(2, 'repeated-delivery', 'The delivery of a repeated issue names the first message.', async (run) => {
    const { delivery } = await delivered(run)
    const { input } = await chatIssue(run)
    run.equals('delivery', run.needs(await run.call(issue, input), 'a repeated issue').delivery, delivery)
  }),
  probe(2, 'repeated-message', 'A repeated issue writes no second message.', async (run) => {
    await delivered(run)
    const { input } = await chatIssue(run)
    const first = await messageId(run)
    const second = await messageId(run)
    if (second !== first + 1) run.notApplicable('Needs a chat whose messages are counted, and in which nobody writes.')
    run.needs(await run.call(issue, input), 'a repeated issue')
    let expected = second + 1
    let next = await messageId(run)
    if (next !== expected) {
      // Count a difference only if it appears twice, because the user may write a message in between.
      run.needs(await run.call(issue, input), 'a repeated issue')
      expected = next + 1
      next = await messageId(run)
    }
    run.equals('id of the next message', next, expected)
  }),
  accountProbe.specified(1, 'unlinked-bot', 'A bot that is not linked to an application cannot issue.', async (run) => {
    const { template_id } = (await chatIssue(run)).input
    const chat_id = run.resources.offer.chat
    const token = (await ownBot(run)).token ?? run.notApplicable('Needs the token of a bot.')
    const input = { chat_id, template_id, external_issue_id: run.resources.name() }
    const { status } = await run.call(issue, input, { as: { credential: token } })
    run.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
  }),
]
