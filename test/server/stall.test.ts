import { expect, test } from 'vitest'
import { checks } from '../../src/server/handlers/index.js'
import { parseBody } from '../../src/server/body.js'
import { lazyValidator } from '../../src/server/validation.js'
import * as tokens from '../../src/contract/tokens.js'

const uniqueItems = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null
    ? 'uniqueItems' in schema || Object.values(schema).some(uniqueItems)
    : false

test('no input asks its schema for unique items: telling the errors takes the square of their number', async () => {
  const { endpoints } = await import('../../src/contract/index.js')
  expect(endpoints.filter(({ body, query }) => uniqueItems(body) || uniqueItems(query))).toEqual([])
})

test('a list far beyond its length is refused with few issues', () => {
  const issues = lazyValidator(tokens.create.body)({ name: 'x', scopes: Array(32_000).fill(0) })
  expect(issues?.length).toBeGreaterThan(0)
  expect(issues?.length).toBeLessThanOrEqual(20)
})

test('a scope named twice is refused', () => {
  const check = checks['tokens.create'] as (body: { scopes: string[] }) => unknown[]
  expect(check({ scopes: ['vouchers:read', 'vouchers:issue'] })).toEqual([])
  expect(check({ scopes: ['vouchers:read', 'vouchers:read'] })).toMatchObject([{ pointer: '/scopes' }])
})

test('marks without end are not put into order', () => {
  const body = JSON.stringify({ x: `a${'\u0301'.repeat(8000)}${'\u0323'.repeat(8000)}` })
  expect(parseBody(Buffer.from(body))).toMatchObject({ ok: false, code: 'VALIDATION_FAILED' })
})
