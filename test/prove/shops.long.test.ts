import { describe, expect, test } from 'vitest'
import { findingsIn } from '../../src/prove/report.js'
import { proveShop, recordShop, variantsOfShop } from '../support/prove/shops.js'
import { shops } from './shops/shops.js'

const TIMES = 20
/** Alone, a shop needs 60 s; here five share two processors. */
const WHOLE = '150s'
const right = shops.filter((it) => it.kind === 'right')
const wrong = shops.filter((it) => it.kind === 'wrong')

describe.concurrent('voucherctl prove', () => {
  test.each(wrong)('names $finding first after a whole run of the shop $name', async (shop) => {
    const { exit, report } = await proveShop(shop, '--budget', WHOLE)
    expect([exit, report.findings[0]?.finding]).toEqual([1, shop.finding])
  })

  test.each(wrong)(`finds $finding in ${TIMES} of ${TIMES} repeats of each variant of $name`, async (shop) => {
    const variants = variantsOfShop(shop).flatMap((it) => Array.from({ length: TIMES }, () => it))
    const { outcomes, facts } = await recordShop(shop, variants)
    const found = outcomes.map((it) => `${it.id} ${findingsIn(it, facts)[0]?.[0]}`)
    expect(found).toEqual(variants.map(({ id }) => `${id} ${shop.finding}`))
  })

  const runs = right.flatMap((shop) => Array.from({ length: TIMES }, (_, index) => ({ ...shop, number: index + 1 })))
  test.each(runs)('finds nothing in run $number of the shop $name', async (shop) => {
    const { exit, report } = await proveShop(shop, '--budget', '60s')
    expect([exit, report.findings]).toEqual([0, []])
  })
})
