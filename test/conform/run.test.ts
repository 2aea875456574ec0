import { expect, test } from 'vitest'
import { Paths } from '../../src/conform/paths.js'
import type { Probe } from '../../src/conform/probe.js'
import type { ProbeContext } from '../../src/conform/probe-context.js'
import { NotApplicable, NotReachable, type ProbeResult } from '../../src/conform/result.js'
import { runProbes } from '../../src/conform/run.js'
import { RunResources } from '../../src/conform/run-resources.js'
import { Secrets } from '../../src/conform/secrets.js'
import { Wire } from '../../src/conform/wire.js'

const baseUrl = 'http://127.0.0.1:1'

/** Runs one probe on a platform that responds with the same body to every call. */
async function resultOf(run: Probe['run'], options: Partial<Probe> = {}, status = 200, body = '{}') {
  const results: ProbeResult[] = []
  const secrets = new Secrets()
  const common = { signal: new AbortController().signal, now: () => 0, pause: async () => {}, maxWaitMs: 0 }
  const wire = new Wire({ baseUrl, plain: async () => ({ status, headers: {}, body }), rate: 1000, ...common })
  const offer = { credentials: {}, quota: 0, maxWaitMs: 0, hasSecure: false }
  const resources = new RunResources({ ...offer, run: 'test', secrets, pause: common.pause })
  const rest = {
    id: 'lists/one',
    number: 1,
    title: 'One.',
    basis: 'partly_specified',
    kind: 'money',
    group: 'calls',
  } as const
  const probes = [{ ...rest, needs: [], run, ...options }]
  await runProbes({ baseUrl, probes, resources, wire, readOnly: false, ...common, onResult: (it) => results.push(it) })
  return results[0] && wire.paths.settle(results[0])
}

const read = (it: ProbeContext) =>
  it.send({ method: 'GET', path: '/api/v1/open-platform/vouchers/templates', headers: {} })
const code = (name: string) => JSON.stringify({ success: false, code: name })

test('RunResources.once calls its function again after an outage, but not after a refusal', async () => {
  const offer = { credentials: {}, quota: 0, maxWaitMs: 0, hasSecure: false }
  const resources = new RunResources({ ...offer, run: 'test', secrets: new Secrets(), pause: async () => {} })
  let calls = 0
  const make = async (error: Error) => {
    calls += 1
    throw error
  }
  const once = (name: string, error: Error) => resources.once(name, () => make(error))
  for (const name of ['one', 'one']) await expect(once(name, new NotReachable('Status 503.'))).rejects.toThrow('503')
  expect(calls).toBe(2)
  for (const name of ['two', 'two']) await expect(once(name, new NotApplicable('Needs it.'))).rejects.toThrow('Needs')
  expect(calls).toBe(3)
})

test('error of a probe before any response is a failed probe', async () => {
  const result = await resultOf(async () => {
    throw new TypeError('x is not a function')
  })
  expect(result).toMatchObject({ result: 'failed', reason: 'TypeError: x is not a function' })
})

test('response without the members that a probe reads is a difference', async () => {
  const result = await resultOf(async (it) => {
    const { data } = await read(it)
    return (data as { id: string }).id
  })
  expect(result).toMatchObject({ result: 'differs', expected: 'a response of the form of the contract' })
})

test.each([
  [200, '{"success":true,"data":{}}', 'specified', 'money'],
  [204, '', 'specified', 'money'],
  [422, code('OTHER'), 'decided', 'money'],
  [409, code('OTHER'), 'decided', 'wording'],
])('a refusal that is %d %s differs from one that is partly specified', async (status, body, basis, kind) => {
  const result = await resultOf(async (it) => it.refuses(await read(it), 409, 'ALREADY_REDEEMED'), {}, status, body)
  expect(result).toMatchObject({ result: 'differs', basis, kind, missing_path: null })
})

test.each([
  [404, ''],
  [404, code('ROUTE_NOT_FOUND')],
  [405, code('METHOD')],
  [501, ''],
])('a response %d %s says that the platform lacks the path, which is specified', async (status, body) => {
  const result = await resultOf(async (it) => void it.succeeds(await read(it)), { basis: 'decided' }, status, body)
  expect(result).toMatchObject({ basis: 'specified', missing_path: 'GET /api/v1/open-platform/vouchers/templates' })
})

test('a path is present if a later response of the run says so', async () => {
  const paths = new Paths()
  const request = { method: 'GET', path: '/api/v1/open-platform/vouchers/templates' }
  paths.note(request, { status: 404, json: { code: 'OTHER' } })
  const missing_path = paths.missing(request) ?? null
  paths.note(request, { status: 200, json: {} })
  const result = { basis: 'decided', missing_path } as unknown as ProbeResult
  expect(missing_path).not.toBeNull()
  expect(paths.settle(result)).toEqual({ basis: 'decided', missing_path: null })
})
