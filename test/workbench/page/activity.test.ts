import { createServer, type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import type { ActivityLine } from '../../../src/contract/platform/activity.js'
import { Inbox } from '../../../src/workbench/inbox.js'
import type { RequestEvent } from '../../../src/workbench/listener.js'
import { ActivityFeed } from '../../../src/workbench/page/activity.js'
import { temporaryDir } from '../../support/cli/cli.js'
import { listen } from '../../support/listen.js'
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

test('activity feed leaves lines out for a page that does not read, and tells it how many', async () => {
  const feed = new ActivityFeed([secret])
  const inbox = new Inbox(temporaryDir())
  const port = await listen(createServer((_, response) => feed.send(response, inbox, true)))
  const response = await new Promise<IncomingMessage>((resolve) => request({ port, host: '127.0.0.1' }, resolve).end())
  const total = 20_000
  for (let index = 0; index < total; index += 1) feed.received(event(index))
  let [received, rest] = [0, '']
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    const parsed = lines.map((it): ActivityLine => JSON.parse(it))
    received += parsed.filter(({ kind }) => kind === 'delivery').length
    const omitted = parsed.find((it) => it.kind === 'omitted')
    if (omitted === undefined) continue
    expect(omitted.count).toBeGreaterThan(0)
    expect(received + omitted.count).toBe(total)
    return
  }
  throw new Error('the stream ended without a line of omitted lines')
})
