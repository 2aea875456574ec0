import { expect, test } from 'vitest'
import { contract, endpoints } from '../../../src/contract/index.js'
import { tokens } from '../../../src/contract/tokens.js'
import { parseBody } from '../../../src/server/http/body.js'
import { lazyValidator } from '../../../src/server/http/schema-validator.js'
import { testApp } from '../../support/server/app.js'
import { Scene } from '../../support/server/scene.js'
import { newTenant } from '../../support/server/tenant.js'

/** True if validators would check uniqueItems: they ignore what is under x-openapi, which only the document uses. */
const uniqueItems = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null
    ? 'uniqueItems' in schema || Object.entries(schema).some(([name, it]) => name !== 'x-openapi' && uniqueItems(it))
    : false

test('no request schema has uniqueItems, whose error report takes quadratic time', () => {
  expect(endpoints.filter(({ body, query }) => uniqueItems(body) || uniqueItems(query))).toEqual([])
})

test('validation of a list far beyond its maximum length reports at most 20 issues', () => {
  const issues = lazyValidator(tokens.create.body)({ name: 'x', scopes: Array(32_000).fill(0) })
  expect(issues?.length).toBeGreaterThan(0)
  expect(issues?.length).toBeLessThanOrEqual(20)
})

test('creation of an application token with a duplicate scope is refused', async () => {
  const tenant = await newTenant(testApp())
  const input = { appId: tenant.appId, name: 'till', scopes: ['vouchers:read', 'vouchers:read'] } as const
  const { code, details } = await tenant.console(contract.tokens.create, { ...input, scopes: [...input.scopes] })
  expect([code, details.errors]).toMatchObject(['VALIDATION_FAILED', [{ pointer: '/scopes', code: 'uniqueItems' }]])
})

test('request body with 8,000 consecutive combining marks is refused before normalisation', { tags: 'text/1' }, () => {
  const body = JSON.stringify({ x: `a${'\u0301'.repeat(8000)}${'\u0323'.repeat(8000)}` })
  expect(parseBody(Buffer.from(body))).toMatchObject({ ok: false, code: 'VALIDATION_FAILED' })
})

const body64KiB: Readonly<Record<string, string>> = {
  'arrays in arrays': '['.repeat(32_000) + ']'.repeat(32_000),
  'objects in objects': '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  'members by the thousand': `{${Array.from({ length: 5_000 }, (_, i) => `"m${i}":${i}`).join()}}`,
  'one member again and again': `{${Array.from({ length: 7_000 }, () => '"name":1').join()}}`,
  'a list of numbers': `{"scopes":[${Array(30_000).fill(1).join()}]}`,
  'a text of combining marks': JSON.stringify({ name: 'e\u0301'.repeat(20_000) }),
  'a text of spaces': JSON.stringify({ name: ' '.repeat(64_000) }),
  'a text of escapes': `{"name":"${'\\u00e9'.repeat(10_000)}"}`,
  'a number of digits': `{"name":${'9'.repeat(64_000)}}`,
  'no JSON': '"'.repeat(64_000),
}

// Only if VOUCHERCTL_REQUESTS is set: durations mean nothing on a busy machine.
if (process.env.VOUCHERCTL_REQUESTS !== undefined)
  test('request body of 64 KiB never blocks the event loop for 100 ms', async () => {
    const server = testApp()
    const slow: unknown[] = []
    for (const endpoint of endpoints.filter((it) => it.body !== undefined)) {
      const scene = await Scene.of(server, endpoint)
      for (const [what, body] of Object.entries(body64KiB)) {
        const request = await scene.request({ body })
        const times: number[] = []
        for (let turn = 0; turn < 3; turn++) {
          const before = process.cpuUsage()
          const response = await server.send(request)
          const { user, system } = process.cpuUsage(before)
          times.push((user + system) / 1000)
          expect(response.status).toBeLessThan(500)
        }
        if (Math.min(...times) > 100) slow.push([endpoint.id, what, times])
      }
    }
    await server.close()
    expect(slow).toEqual([])
  }, 300_000)
