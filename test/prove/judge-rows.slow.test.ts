import { describe, expect, test } from 'vitest'
import { type Facts, type FindingName, rows } from '../../src/prove/judge.js'
import type { Outcome } from '../../src/prove/record.js'
import { findingsIn } from '../../src/prove/report.js'
import { recordShop, variantsOfShop } from '../support/prove/shops.js'
import { type Shop, shops } from './shops/shops.js'

const wrong = shops.filter((it) => it.kind === 'wrong')
/** The first variant of each shop in which it makes its mistake. */
const recorded = new Map<Shop, { readonly outcome: Outcome; readonly facts: Facts }>()

describe.concurrent('a shop with a mistake', () => {
  test.each(wrong)('$name shows $finding first', async (shop) => {
    const { outcomes, facts } = await recordShop(shop, variantsOfShop(shop).slice(0, 1))
    const [outcome] = outcomes
    if (outcome === undefined) throw new Error(`The list of shops names no variant of ${shop.name}.`)
    recorded.set(shop, { outcome, facts })
    expect(findingsIn(outcome, facts)[0]?.[0]).toBe(shop.finding)
  })
})

/** Effects of a mistake that other rows find if the row of its cause is switched off. */
const effects: Readonly<Partial<Record<FindingName, readonly FindingName[]>>> = {
  new_key: ['voucher_lost'],
  changed_body: ['voucher_lost'],
}

test.each(Object.keys(rows) as FindingName[])('the row %s alone finds the mistake of a shop', (name) => {
  const { [name]: _off, ...others } = rows
  const mistaken = wrong.filter((it) => it.finding === name).flatMap((it) => recorded.get(it) ?? [])
  const found = mistaken.map(({ outcome, facts }) => findingsIn(outcome, facts, others).map(([other]) => other))
  expect(found).toContainEqual(effects[name] ?? [])
})
