import { expect, test } from 'vitest'
import { type LoadOptions, LoadRun } from '../../../src/cli/load/run.js'
import type { Call } from '../../../src/client/call.js'
import type { CallFailure } from '../../../src/client/result.js'
import type { CallOptions } from '../../../src/client/settings.js'
import type { Endpoint } from '../../../src/contract/endpoint.js'
import { VirtualClock } from '../../support/server/virtual-clock.js'

interface Observed {
  readonly atMs: number
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  readonly key: string | undefined
  readonly address: number
  readonly hasRetries: boolean
}

interface Platform {
  /** Returns the failure of a call; default: every call succeeds. */
  failureOf?(call: Observed, index: number): Pick<CallFailure, 'code' | 'status' | 'outcomeUnknown'> | undefined
  readonly serviceMs?: number
  readonly addresses?: number
  readonly options?: Partial<Omit<LoadOptions, 'schedule'>>
  readonly schedule?: Partial<LoadOptions['schedule']>
}

/** A run of 100 calls in 1 s on a simulated platform and a virtual clock. */
function runOn({ failureOf, serviceMs = 1, addresses = 1, options, schedule }: Platform = {}) {
  const clock = new VirtualClock()
  const calls: Observed[] = []
  const target = (address: number, hasRetries: boolean) =>
    (async ({ id }: Endpoint, input: Observed['input'], given?: CallOptions) => {
      const call = {
        ...{ atMs: clock.nowMs(), operation: id.replace('vouchers.', ''), input, address, hasRetries },
        key: given?.idempotencyKey,
      }
      calls.push(call)
      const failure = failureOf?.(call, calls.length - 1)
      await clock.sleep(serviceMs)
      if (failure !== undefined) return { ok: false, ...failure }
      return { ok: true, data: { credentials: [{ type: 'redeem_code', value: `CODE-${input.external_issue_id}` }] } }
    }) as Call
  const run = new LoadRun({
    targets: Array.from({ length: addresses }, (_, it) => ({
      call: target(it, false),
      callWithRetries: target(it, true),
    })),
    connections: 64,
    warmupMs: 0,
    template: 'tpl_01',
    recipients: ['user-1', 'user-2'],
    runId: 'run',
    timeoutMs: 30_000,
    clock,
    signal: new AbortController().signal,
    ...options,
    schedule: {
      ...{ shape: 'steady', rate: 100, durationMs: 1_000, mix: { issue: 30, verify: 50, redeem: 20 }, seed: 1 },
      ...schedule,
    },
  })
  const countOf = (operation: string) => calls.filter((it) => it.operation === operation).length
  return { run, calls, countOf, clock }
}

const refusal = (status: number, code: string, outcomeUnknown = false) => ({ status, code, outcomeUnknown })

test('prepare() issues vouchers at the rate, then tries other operations', { tags: 'load/2' }, async () => {
  const { run, calls } = runOn({ serviceMs: 5 })
  expect(await run.prepare()).toBeUndefined()
  expect(run.issuedAhead).toBe(21)
  expect(calls.map((it) => it.operation)).toEqual([...Array(21).fill('issue'), 'verify', 'redeem'])
  expect(calls.every((it) => it.hasRetries)).toBe(true)
  expect(calls.slice(1, 4).map((it) => it.atMs)).toEqual([5, 15, 25])
})

test('prepare() returns the failure of the first call and makes no other', async () => {
  const { run, calls } = runOn({ failureOf: () => refusal(404, 'TEMPLATE_NOT_FOUND') })
  expect(await run.prepare()).toMatchObject({ code: 'TEMPLATE_NOT_FOUND' })
  expect(calls).toHaveLength(1)
})

test('prepare() returns the failure of an operation that the token does not permit', async () => {
  const { run } = runOn({
    failureOf: ({ operation }) => (operation === 'redeem' ? refusal(403, 'INSUFFICIENT_SCOPE') : undefined),
  })
  expect(await run.prepare()).toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
})

test('run() makes the calls of the mix once each, and redeems each voucher once', async () => {
  const { run, calls } = runOn()
  await run.prepare()
  const before = calls.length
  await run.run()
  const made = calls.slice(before)
  const count = (operation: string) => made.filter((it) => it.operation === operation).length
  expect([count('issue'), count('verify'), count('redeem')]).toEqual([30, 50, 20])
  expect(made.some((it) => it.hasRetries)).toBe(false)
  const redeemed = calls.filter((it) => it.operation === 'redeem').map((it) => JSON.stringify(it.input))
  expect(new Set(redeemed).size).toBe(21)
  expect(run.statistics.redeem.succeeded).toBe(20)
  expect([run.statistics.verify.minMs, run.statistics.verify.maxMs]).toEqual([1, 1])
})

test('calls of a load differ in idempotency key and external id, and recipients alternate', async () => {
  const { run, calls } = runOn()
  await run.prepare()
  await run.run()
  expect(new Set(calls.map((it) => it.key)).size).toBe(calls.length)
  const issues = calls.filter((it) => it.operation === 'issue').map((it) => it.input)
  expect(new Set(issues.map((it) => it.external_issue_id)).size).toBe(issues.length)
  expect(issues.slice(0, 3).map((it) => it.recipient_user_id)).toEqual(['user-2', 'user-1', 'user-2'])
})

test('load run counts failures by code and does not retry', { tags: 'load/2' }, async () => {
  const { run, calls } = runOn({
    failureOf: ({ hasRetries }) => (hasRetries ? undefined : refusal(429, 'RATE_LIMITED')),
    schedule: { mix: { issue: 0, verify: 100, redeem: 0 } },
  })
  await run.prepare()
  await run.run()
  expect([run.statistics.verify.succeeded, run.statistics.verify.errors]).toEqual([0, { RATE_LIMITED: 100 }])
  expect(calls.filter((it) => !it.hasRetries)).toHaveLength(100)
})

test('later call of a load redeems a voucher whose redeem got a 429', async () => {
  const { run } = runOn({
    failureOf: ({ operation, hasRetries }, index) =>
      operation === 'redeem' && !hasRetries && index % 2 === 0 ? refusal(429, 'RATE_LIMITED') : undefined,
    schedule: { mix: { issue: 0, verify: 0, redeem: 100 } },
  })
  await run.prepare()
  await run.run()
  const { succeeded, errors } = run.statistics.redeem
  expect([succeeded, errors]).toEqual([50, { RATE_LIMITED: 50 }])
})

test('load does not redeem a voucher again after an unknown outcome', async () => {
  const { run, calls } = runOn({
    failureOf: ({ hasRetries }) => (hasRetries ? undefined : refusal(0, 'TIMEOUT', true)),
    schedule: { mix: { issue: 0, verify: 0, redeem: 100 } },
  })
  await run.prepare()
  await run.run()
  const codes = calls.filter((it) => it.operation === 'redeem').map((it) => JSON.stringify(it.input))
  expect(new Set(codes).size).toBe(101)
})

test('redeem calls count as NO_VOUCHER and are not sent when issue calls fail', { tags: 'load/2' }, async () => {
  const { run, countOf } = runOn({
    failureOf: ({ operation, hasRetries }) =>
      operation === 'issue' && !hasRetries ? refusal(503, 'SERVICE_UNAVAILABLE') : undefined,
    schedule: { durationMs: 20_000, mix: { issue: 50, verify: 0, redeem: 50 } },
  })
  await run.prepare()
  await run.run()
  const { succeeded, errors } = run.statistics.redeem
  expect(Object.keys(errors)).toEqual(['NO_VOUCHER'])
  expect(countOf('redeem')).toBe(succeeded + 1)
  expect(succeeded + run.statistics.redeem.failed).toBe(1_000)
})

test('load makes calls that are due during the warm-up but does not count them', async () => {
  const { run, calls } = runOn({ options: { warmupMs: 300 }, schedule: { mix: { issue: 100, verify: 0, redeem: 0 } } })
  await run.prepare()
  await run.run()
  expect([calls.length, run.statistics.issue.succeeded, run.lateness.succeeded]).toEqual([101, 70, 70])
})

test('prepare() tries every address, and run() uses them in turn', async () => {
  const { run, calls } = runOn({ addresses: 3, schedule: { mix: { issue: 0, verify: 100, redeem: 0 } } })
  await run.prepare()
  expect(new Set(calls.map((it) => it.address)).size).toBe(3)
  const before = calls.length
  await run.run()
  expect(calls.slice(before, before + 4).map((it) => it.address)).toEqual([0, 1, 2, 0])
})

test('load does not count calls that an abort has ended', async () => {
  const stop = new AbortController()
  const { run, clock } = runOn({
    options: { signal: stop.signal },
    serviceMs: 50,
    failureOf: () => (stop.signal.aborted ? refusal(0, 'ABORTED') : undefined),
    schedule: { mix: { issue: 0, verify: 100, redeem: 0 } },
  })
  await run.prepare()
  void clock.sleep(105).then(() => stop.abort())
  await run.run()
  expect([run.statistics.verify.succeeded, run.statistics.verify.failed]).toEqual([11, 0])
})
