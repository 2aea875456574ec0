import { contract } from '../../../contract/index.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'

const { bots } = contract
const chatProbe = probesOf('chats', { needs: ['bot'] })

const TEXT_MAX = 4_096
const SECONDS_MAX = 100_000_000_000
/** Retried because a user may write a message between two messages of the bot. */
const ATTEMPTS = 3

const send = (run: ProbeContext, text: string) =>
  run.call(bots.send, { chat_id: run.resources.offer.chat ?? run.resources.lacking('chat'), text })

const sent = async (it: ProbeContext, text: string) => it.needs(await send(it, text), 'a message')

const needs = ['bot', 'chat'] as const
const lineProbe = probesOf('lines-of-a-message', { needs })
const messageProbe = probesOf('messages', { needs })

export const messages = [
  chatProbe(2, 'not-started', 'A message to a chat that was not started is 404.', async (run) => {
    run.refuses(await run.call(bots.send, { chat_id: 'chat_conform', text: 'conform' }), 404)
  }),
  messageProbe(1, 'members', 'A message has message_id, date, chat, from and text.', async (run) => {
    const text = `conform ${run.resources.run}`
    const message = run.accepts(await send(run, text))
    run.holds(Number.isInteger(message.message_id), 'a number in message_id', message)
    run.holds(typeof message.chat === 'object' && typeof message.from === 'object', 'objects in chat and from', message)
    run.equals('id of the chat, and text', [message.chat.id, message.text], [run.resources.offer.chat, text])
  }),
  messageProbe(1, 'date', 'The date of a message is in Unix seconds.', async (run) => {
    const { date } = await sent(run, 'conform: date')
    run.holds(Number.isInteger(date) && date > 0 && date < SECONDS_MAX, 'whole seconds since 1970', date)
  }),
  messageProbe(1, 'ids', 'Message ids of a chat count without gaps.', async (run) => {
    let step = 0
    for (let attempt = 0; attempt < ATTEMPTS && step !== 1; attempt += 1) {
      const { message_id: first } = await sent(run, 'conform: first')
      step = (await sent(run, 'conform: second')).message_id - first
    }
    run.equals('distance of two ids', step, 1)
  }),
  ...(
    [
      ['line-feed', 'A message may contain line feeds.', 'conform\nline', 'conform\nline'],
      ['tab', 'A message may contain tabs.', 'conform\ttab', 'conform\ttab'],
      ['cr-lf', 'CR LF in a message is stored as LF.', 'conform\r\nline', 'conform\nline'],
    ] as const
  ).map(([name, title, text, expected]) =>
    lineProbe(1, name, title, async (it) => it.equals('text', it.accepts(await send(it, text)).text, expected)),
  ),
  lineProbe(1, 'cr-alone', 'A message with a CR without LF is refused with 400.', async (run) => {
    run.refuses(await send(run, 'conform\rline'), 400)
  }),
  lineProbe(1, 'length-of-4096', 'A message may have 4,096 code points.', async (run) => {
    run.accepts(await send(run, '😀'.repeat(TEXT_MAX)))
  }),
  lineProbe(1, 'length-of-4097', 'A message of 4,097 code points is refused with 400.', async (run) => {
    run.refuses(await send(run, 'x'.repeat(TEXT_MAX + 1)), 400)
  }),
  lineProbe(1, 'length-as-sent', 'CR LF counts as two code points of the text as sent.', async (run) => {
    run.refuses(await send(run, `${'x'.repeat(TEXT_MAX - 1)}\r\n`), 400)
  }),
]
