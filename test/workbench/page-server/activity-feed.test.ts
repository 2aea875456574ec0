import type { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { Inbox } from '../../../src/workbench/inbox.js'
import type { RequestEvent } from '../../../src/workbench/listener.js'
import { ActivityFeed } from '../../../src/workbench/page-server/activity-feed.js'
import { temporaryDir } from '../../support/cli/cli.js'
import { secret, updateBody } from '../../support/webhook/listener.js'

const event = (index: number): RequestEvent => ({
  at: index,
  verdict: 'ok',
  reason: null,
  status: 200,
  durationMs: 1,
  inboxId: `1-${index}`,
  failure: null,
  update: { id: String(index), type: 'message', body: {} },
  headers: [],
  rawBody: updateBody(index),
})

/** Reads the first lines of a stream, which may come in several pieces. */
async function linesOf(stream: Readable, count: number) {
  let text = ''
  for await (const piece of stream) {
    text += String(piece)
    if (text.split('\n').length > count) break
  }
  return text.split('\n').slice(0, count)
}

test('activity feed ends the stream of a page that leaves 10,000 lines unread', async () => {
  const feed = new ActivityFeed([secret])
  const inbox = new Inbox(temporaryDir())
  const idle = feed.stream(inbox)
  for (let index = 0; index <= 10_000; index += 1) feed.received(event(index))
  expect(idle.destroyed).toBe(true)
  const [first = ''] = await linesOf(feed.stream(inbox), 1)
  expect(JSON.parse(first)).toMatchObject({ delivery: { delivery_id: '1-9801' } })
})

test('activity feed names a known planted fault, and says that its refusal is right', async () => {
  const feed = new ActivityFeed([secret])
  const inbox = new Inbox(temporaryDir())
  const refused = { ...event(1), verdict: 'refused', reason: 'bad_signature', status: 401, update: null } as const
  for (const [index, fault] of ['forged', 'duplicate', '<b>'].entries())
    feed.received({ ...refused, inboxId: `1-${index}`, headers: ['x-platform-fault', fault] })
  const lines = await linesOf(feed.stream(inbox), 3)
  expect(lines.map((it) => JSON.parse(it).delivery)).toMatchObject([
    { fault: 'forged', explanation: 'A planted fault (forged): the refusal is right.' },
    { fault: 'duplicate', explanation: expect.not.stringContaining('planted') },
    { explanation: expect.not.stringContaining('planted') },
  ])
  expect(lines[2]).not.toContain('fault')
})
