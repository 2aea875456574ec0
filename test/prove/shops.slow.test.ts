import { describe, expect, test } from 'vitest'
import { proveShop } from '../support/prove/shops.js'
import { shops } from './shops/shops.js'

const right = shops.filter((it) => it.kind === 'right')

describe.concurrent('voucherctl prove', () => {
  test.each(right)('finds nothing in the shop $name', { tags: 'prove/1' }, async (shop) => {
    const { exit, report } = await proveShop(shop, '--budget', '10s')
    expect([exit, report.findings]).toEqual([0, []])
    expect(report.runs.held).toBeGreaterThan(0)
  })
})
