import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Forwarder } from '../../src/workbench/forwarding.js'
import type { RecordedResponse } from '../../src/workbench/inbox.js'
import { post } from '../../src/workbench/post.js'
import { anyCharacter } from '../support/any-character.js'
import {
  invalidResponses,
  type RawResponse,
  rawApp,
  unendingResponses,
  validResponses,
} from '../support/server/raw-responses.js'
import { deliver, listening } from '../support/webhook/listener.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'

/** Starts a listener in front of an application that sends `first` once and then valid 200 responses. */
async function startListener(first: RawResponse, timeoutMs?: number) {
  const responses = [first]
  const app = await rawApp(() => responses.shift() ?? OK)
  const forwarder = new Forwarder(timeoutMs)
  onTestFinished(() => forwarder.close())
  const recorded: RecordedResponse[] = []
  const inbox = {
    recordDelivery: async () => '1',
    recordResponse: async (response: RecordedResponse) => void recorded.push(response),
  }
  return { ...(await listening({ inbox, app: (it) => forwarder.send(app, it) })), recorded }
}

describe('the listener', () => {
  test.each(Object.entries(invalidResponses))(
    'the listener responds 502 and records the reason if the application sends: %s',
    { tags: 'application-responses/1' },
    async (_name, response) => {
      const { url, emitted, recorded, close } = await startListener(response)
      expect((await deliver(url, 1)).status).toBe(502)
      const [event] = await emitted(1)
      expect(event).toMatchObject({ verdict: 'ok', status: 502 })
      expect(event?.reason).toMatch(/^app_(response_invalid|response_too_long|broke_off)$/)
      expect(recorded).toMatchObject([{ status: 502, error: event?.failure }])
      expect(event?.failure).not.toBeNull()
      expect((await deliver(url, 2)).status).toBe(200)
      await close()
    },
  )

  test.each(Object.entries(unendingResponses))(
    'the listener responds 504 and records the reason if the application sends: %s',
    async (_name, response) => {
      const { url, emitted, recorded, close } = await startListener(response, 300)
      expect((await deliver(url, 1)).status).toBe(504)
      expect((await emitted(1))[0]).toMatchObject({ reason: 'app_timeout', status: 504 })
      expect(recorded).toMatchObject([{ status: 504, error: expect.stringContaining('did not respond within 0.3 s') }])
      expect((await deliver(url, 2)).status).toBe(200)
      await close()
    },
  )

  test.each(Object.entries(validResponses))(
    'the listener responds with the status of the application if the application sends: %s',
    async (_name, { response, status }) => {
      const { url, emitted, close } = await startListener(response)
      const first = await deliver(url, 1)
      expect([first.status, (await emitted(1))[0]?.failure]).toEqual([status, null])
      await first.arrayBuffer()
      expect((await deliver(url, 2)).status).toBe(200)
      await close()
    },
  )

  test('the listener responds to each delivery, whatever bytes the application sends', async () => {
    const responses: RawResponse[] = []
    const app = await rawApp(() => responses.shift() ?? OK)
    const forwarder = new Forwarder(100)
    onTestFinished(() => forwarder.close())
    const { url, close } = await listening({ app: (it) => forwarder.send(app, it) })
    let id = 0
    const status = fc.oneof(fc.integer({ min: 0, max: 1_200 }), fc.constantFrom(0, 99, 100, 101, 199, 204, 304, 600))
    const header = fc.oneof(
      fc.constantFrom('Connection: Upgrade\r\nUpgrade: x', 'Content-Length: 2', 'Transfer-Encoding: chunked'),
      fc.tuple(fc.string({ maxLength: 5 }), fc.string({ unit: anyCharacter, maxLength: 8 })).map((it) => it.join(':')),
    )
    const response = fc.record({
      version: fc.constantFrom('1.1', '1.1', '1.0', '2.0', '0.9'),
      status: status.map((it) => String(it).padStart(3, '0')),
      headers: fc.array(header, { maxLength: 3 }),
      body: fc.constantFrom('', 'hi', '2\r\nhi\r\n0\r\n\r\n', 'zz\r\n'),
      isClosed: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(response, async ({ version, status, headers, body, isClosed }) => {
        const bytes = `HTTP/${version} ${status} X\r\n${headers.map((it) => `${it}\r\n`).join('')}\r\n${body}`
        // A request that timed out on a busy machine may have left its response.
        responses.splice(0)
        responses.push((socket) => {
          socket.write(bytes, 'latin1')
          if (isClosed) socket.end()
        })
        const { status: received } = await deliver(url, ++id)
        if (received !== 502 && received !== 504) expect(received).toBe(Number(status))
      }),
      { seed: 1, numRuns: 30 },
    )
    await close()
  })
})

describe('posts of polled updates and trigger', () => {
  test.each([
    ['status 000', 'INVALID_STATUS'],
    ['status 099', 'INVALID_STATUS'],
    ['status 999', 'INVALID_STATUS'],
    ['status 101 without an upgrade', 'INVALID_STATUS'],
    ['status 101 with an upgrade', 'UNEXPECTED_UPGRADE'],
    ['HTTP/0.9', 'HPE_INVALID_CONSTANT'],
    ['endless headers', 'HPE_HEADER_OVERFLOW'],
    ['no bytes at all', 'ECONNRESET'],
  ] as const)('post() returns an error and no status if the receiver sends: %s', async (name, error) => {
    const url = await rawApp(() => invalidResponses[name] as RawResponse)
    const posted = await post({ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 10_000 })
    expect(posted).toMatchObject({ status: null, error })
  })

  test.each(['silence', 'status 199 alone', 'headers without end'])(
    'post() returns TIMEOUT if the receiver sends: %s',
    async (name) => {
      const url = await rawApp(() => unendingResponses[name] as RawResponse)
      const posted = await post({ url, headers: {}, body: Buffer.from('{}'), timeoutMs: 200 })
      expect(posted).toMatchObject({ status: null, error: 'TIMEOUT' })
    },
  )
})
