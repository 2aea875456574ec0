import { describe, expect, test } from 'vitest'
import { readRetryAfter, withRetry } from '../../src/client/retry.js'
import type { Retry, RetryOptions } from '../../src/client/settings.js'
import { TransportError, type TransportErrorKind, type TransportRequest } from '../../src/client/transport.js'

type StepResponse = { status: number; headers?: Record<string, string>; body?: string }
type Step = StepResponse | TransportErrorKind | TransportError

const ok = { status: 200 }
const read: TransportRequest = { method: 'GET', path: '/x', headers: {}, repeatable: true }
const mutation: TransportRequest = { method: 'POST', path: '/x', headers: {}, repeatable: false }

/** A retrying transport over a fake one that returns these steps; the clock advances 10 ms per request. */
function setup(steps: Step[], options: RetryOptions = {}) {
  const sleeps: number[] = []
  const sent: TransportRequest[] = []
  const retries: Retry[] = []
  let clock = 0
  const send = withRetry(
    async (request) => {
      sent.push(request)
      clock += 10
      const step = steps[sent.length - 1] ?? expect.unreachable('one try too many')
      if (typeof step === 'string') throw new TransportError(step, step)
      if (step instanceof TransportError) throw step
      return { headers: {}, body: '', ...step }
    },
    {
      random: () => 1,
      sleep: async (ms) => {
        sleeps.push(ms)
        clock += ms
      },
      monotonicMs: () => clock,
      now: () => Date.UTC(2027, 0, 1),
      onRetry: (retry) => retries.push(retry),
      ...options,
    },
  )
  return { send, sent, sleeps, retries }
}

const inProgress = { status: 409, body: '{"success":false,"code":"IDEMPOTENCY_KEY_IN_PROGRESS"}' }
const reused = { status: 409, body: '{"success":false,"code":"IDEMPOTENCY_KEY_REUSED","retryable":true}' }
const busy = '{"success":false,"code":"BUSY","retryable":true}'
const unknownRetryable = { status: 409, body: busy }
const secureError = (retryable: boolean, maybeProcessed: boolean) =>
  new TransportError('secure', 'refused', {
    maybeProcessed,
    secure: { code: 'SECURE_SESSION_INVALID', phase: 'dispatch', status: 401, headers: {}, retryable },
  })

describe('repeatable calls', () => {
  test.each<Step>([
    'refused',
    'lost',
    'timeout',
    { status: 429 },
    { status: 500 },
    { status: 502 },
    { status: 503 },
    inProgress,
    unknownRetryable,
    { status: 400, body: busy },
  ])('a repeatable call is retried after %j', async (step) => {
    const { send, sent } = setup([step, ok])
    expect(await send(read)).toMatchObject(ok)
    expect(sent).toHaveLength(2)
  })

  test.each<StepResponse>([
    { status: 200 },
    { status: 302 },
    { status: 400 },
    { status: 404 },
    { status: 426 },
    { status: 200, body: busy },
    reused,
  ])('withRetry does not retry a repeatable request after %j', async (step) => {
    const { send, sent } = setup([step])
    expect(await send(read)).toMatchObject(step)
    expect(sent).toHaveLength(1)
  })

  test('withRetry does not retry a repeatable request after an abort', async () => {
    const { send, sent } = setup(['aborted'])
    await expect(send(read)).rejects.toMatchObject({ kind: 'aborted' })
    expect(sent).toHaveLength(1)
  })

  test('withRetry retries a refusal of the encrypted transport only if the refusal is retryable', async () => {
    const retried = setup([secureError(true, false), ok])
    expect(await retried.send(read)).toMatchObject(ok)
    expect(retried.retries).toMatchObject([{ status: 401, code: 'SECURE_SESSION_INVALID' }])
    const final = setup([secureError(false, false)])
    await expect(final.send(read)).rejects.toMatchObject({ kind: 'secure' })
    expect(final.sent).toHaveLength(1)
  })

  test('withRetry sends the same request with each retry', async () => {
    const { send, sent } = setup(['lost', ok])
    const request = { ...read, method: 'POST', body: '{"a":1}', headers: { 'idempotency-key': 'k' } }
    await send(request)
    expect(sent).toEqual([request, request])
  })
})

describe('other mutations', () => {
  test.each<Step>(['refused', { status: 429 }, { status: 503 }])(
    'withRetry retries a mutation without idempotency key after %j, which means unprocessed',
    async (step) => {
      const { send, sent } = setup([step, ok])
      expect(await send(mutation)).toMatchObject(ok)
      expect(sent).toHaveLength(2)
    },
  )

  test.each<TransportErrorKind>(['lost', 'timeout', 'aborted'])(
    'withRetry does not retry a mutation without idempotency key after the error `%s`',
    async (kind) => {
      const { send, sent } = setup([kind])
      await expect(send(mutation)).rejects.toMatchObject({ kind, maybeProcessed: true })
      expect(sent).toHaveLength(1)
    },
  )

  test.each<StepResponse>([{ status: 500 }, { status: 502 }, { status: 504 }, inProgress])(
    'withRetry does not retry a mutation without idempotency key after %j',
    async (step) => {
      const { send, sent } = setup([step])
      expect(await send(mutation)).toMatchObject(step)
      expect(sent).toHaveLength(1)
    },
  )
})

test('withRetry does not retry a request that does not say whether it is repeatable', async () => {
  const { send, sent } = setup(['lost'])
  await expect(send({ method: 'POST', path: '/x', headers: {} })).rejects.toMatchObject({ kind: 'lost' })
  expect(sent).toHaveLength(1)
})

test('withRetry does not retry after an untrusted certificate, not even a read', async () => {
  const { send, sent } = setup(['untrusted', ok])
  await expect(send(read)).rejects.toMatchObject({ kind: 'untrusted', maybeProcessed: false })
  expect(sent).toHaveLength(1)
})

describe('attempts and delays', () => {
  test('withRetry returns the outcome of the last of 4 failed attempts', async () => {
    const { send, sent, retries } = setup(['refused', { status: 503 }, 'lost', { status: 502, body: 'last' }])
    expect(await send(read)).toMatchObject({ status: 502, body: 'last' })
    expect(sent).toHaveLength(4)
    expect(retries).toEqual([
      { attempt: 1, delayMs: 200, status: 0, code: 'refused' },
      { attempt: 2, delayMs: 400, status: 503, code: 'INVALID_RESPONSE' },
      { attempt: 3, delayMs: 800, status: 0, code: 'lost' },
    ])
  })

  test('withRetry sends a request once with `tries: 1`', async () => {
    const { send, sent } = setup([{ status: 503 }], { tries: 1 })
    expect(await send(read)).toMatchObject({ status: 503 })
    expect(sent).toHaveLength(1)
  })

  test('withRetry waits a random part of a backoff that doubles up to 5 s', async () => {
    const shares = [0, 0.5, 0.25, 0.5, 0.5, 0.5, 0.5]
    const { send, sleeps } = setup([...shares.map(() => 'lost' as const), ok], {
      tries: 8,
      random: () => shares.shift() ?? 0,
    })
    await send(read)
    expect(sleeps).toEqual([0, 200, 200, 800, 1600, 2500, 2500])
  })

  test('withRetry waits at least as long as Retry-After demands', async () => {
    const { send, sleeps } = setup([{ status: 429, headers: { 'retry-after': '7' } }, ok])
    await send(read)
    expect(sleeps).toEqual([7000])
  })

  test('withRetry waits for its backoff if Retry-After is shorter', async () => {
    const { send, sleeps } = setup([{ status: 429, headers: { 'retry-after': '0' } }, ok])
    await send(read)
    expect(sleeps).toEqual([200])
  })

  test('withRetry returns the failure without a wait if Retry-After exceeds the time limit', async () => {
    const { send, sleeps } = setup([{ status: 429, headers: { 'retry-after': '60' } }])
    expect(await send({ ...read, timeoutMs: 30_000 })).toMatchObject({ status: 429 })
    expect(sleeps).toEqual([])
  })

  test('withRetry does not wait for a retry that would begin exactly at the time limit', async () => {
    const { send, sleeps } = setup(['lost', ok])
    await expect(send({ ...read, timeoutMs: 210 })).rejects.toMatchObject({ kind: 'lost' })
    expect(sleeps).toEqual([])
    expect(await setup(['lost', ok]).send({ ...read, timeoutMs: 211 })).toMatchObject(ok)
  })

  test('withRetry passes the remaining time limit to each attempt', async () => {
    const { send, sent } = setup(['lost', 'lost', ok])
    await send({ ...read, timeoutMs: 1000 })
    expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([1000, 790, 380])
  })

  test('withRetry rejects with `aborted` if the signal fires during the wait before a retry', async () => {
    const controller = new AbortController()
    const { send } = setup(['refused'], {
      sleep: async () => {
        throw new TransportError('aborted', 'aborted')
      },
    })
    await expect(send({ ...read, signal: controller.signal })).rejects.toMatchObject({
      kind: 'aborted',
      maybeProcessed: false,
    })
  })

  test('withRetry rethrows an exception of the wait that is not a TransportError', async () => {
    const { send } = setup(['refused'], { sleep: () => Promise.reject(new RangeError('bug')) })
    await expect(send(read)).rejects.toThrow(RangeError)
  })

  test.each<[string, (abort: () => void) => void]>([
    ['before', (abort) => abort()],
    ['during', (abort) => setImmediate(abort)],
  ])('an abort %s the default sleep ends the call', async (_when, schedule) => {
    const controller = new AbortController()
    let attempts = 0
    const limited = async () => {
      attempts += 1
      return { status: 429, headers: { 'retry-after': '600' }, body: '' }
    }
    const send = withRetry(limited, { onRetry: () => schedule(() => controller.abort()) })
    await expect(send({ ...read, signal: controller.signal })).rejects.toMatchObject({ kind: 'aborted' })
    expect(attempts).toBe(1)
  })

  test('withRetry without a custom sleep waits for real time before a retry', async () => {
    let tries = 0
    const send = withRetry(async () => ({ status: (tries += 1) < 2 ? 503 : 200, headers: {}, body: '' }), {
      random: () => 0,
    })
    expect(await send(read)).toMatchObject(ok)
  })
})

describe('maybeProcessed after retries', () => {
  test('withRetry keeps maybeProcessed true if a later attempt gets no connection', async () => {
    const { send } = setup(['lost', 'refused', 'refused', 'refused'])
    await expect(send(read)).rejects.toMatchObject({ kind: 'refused', maybeProcessed: true })
  })

  test.each([500, 504])(
    'withRetry keeps maybeProcessed true after %i if a later attempt gets a response',
    async (status) => {
      const { send } = setup([{ status }, { status: 401 }])
      expect(await send(read)).toMatchObject({ status: 401, maybeProcessed: true })
    },
  )

  test.each([false, true])(
    'withRetry throws the error itself if its maybeProcessed (%s) applies',
    async (maybeProcessed) => {
      const error = secureError(false, maybeProcessed)
      const { send } = setup([...(maybeProcessed ? ['lost' as const] : []), error])
      await expect(send(read)).rejects.toBe(error)
    },
  )

  test('withRetry omits maybeProcessed if the server cannot have processed any attempt', async () => {
    const { send } = setup(['refused', { status: 429 }, { status: 503 }, { status: 401 }])
    expect(await send(read)).not.toHaveProperty('maybeProcessed')
  })
})

test('withRetry does not retry after an exception that is not a TransportError, but rethrows it', async () => {
  let tries = 0
  const send = withRetry(async () => {
    tries += 1
    throw new RangeError('bug')
  })
  await expect(send(read)).rejects.toThrow(RangeError)
  expect(tries).toBe(1)
})

describe('Retry-After', () => {
  const at = (headers: Record<string, string>) => readRetryAfter(headers, () => Date.UTC(2027, 0, 1, 0, 0, 0))

  test.each([
    [{}, null],
    [{ 'retry-after': '120' }, 120_000],
    [{ 'retry-after': 'Fri, 01 Jan 2027 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Thu, 31 Dec 2026 23:59:30 GMT' }, 0],
    [{ 'retry-after': 'Fri, 01 Jan 2027 00:00:30 GMT', date: 'Fri, 01 Jan 2027 00:00:20 GMT' }, 10_000],
    [{ 'retry-after': 'Fri, 01 Jan 2027 00:00:30 GMT', date: 'junk' }, 30_000],
    [{ 'retry-after': '-5' }, null],
    [{ 'retry-after': '1.5' }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'retry-after': '2027' }, 2_027_000],
    [{ 'retry-after': 'Foo, 99 Bar 2027 00:00:30 GMT' }, null],
    [{ 'retry-after': 'on Fri, 01 Jan 2027 00:00:30 GMT' }, null],
    [{ 'retry-after': 'Fri, 01 Jan 2027 00:00:30 GMT+0100' }, null],
  ])('readRetryAfter reads %j as %s ms', (headers, expected) => {
    expect(at(headers as Record<string, string>)).toBe(expected)
  })
})
