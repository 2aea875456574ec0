import { describe, expect, test } from 'vitest'
import { proveShop } from '../support/prove/shops.js'
import { shops } from './shops/shops.js'

/** One shop in ten: a right one, one with a mistake in its calls, and one with a mistake in its webhook. */
const some = shops.filter((it) => ['till-fetch', 'key-per-attempt', 'ids-ignored'].includes(it.name))

describe.concurrent('voucherctl prove', () => {
  test.each(some)('finds what is known of the shop $name', async (shop) => {
    const flags = shop.variants === undefined ? ['--budget', '1s'] : ['--only', shop.variants[0] ?? '']
    const { exit, report } = await proveShop(shop, ...flags)
    expect([exit, report.findings[0]?.finding ?? null]).toEqual([shop.finding === null ? 0 : 1, shop.finding])
  })
})
