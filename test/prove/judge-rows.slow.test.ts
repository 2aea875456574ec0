import { beforeAll, describe, expect, test } from 'vitest'
import { type Facts, type FindingName, rows } from '../../src/prove/judge.js'
import type { Outcome } from '../../src/prove/record.js'
import { findingsIn } from '../../src/prove/report.js'
import { recordShop, variantsOfShop } from '../support/prove/shops.js'
import { type Shop, shops } from './shops/shops.js'

const wrong = shops.filter((it) => it.kind === 'wrong')
const recorded = new Map<Shop, { readonly outcomes: readonly Outcome[]; readonly facts: Facts }>()

/** Outcomes in which a shop makes its mistake. */
async function recordOne(shop: Shop, signal: AbortSignal) {
  const t0 = performance.now()
  const { trials, outcomes, facts } = await recordShop(shop, variantsOfShop(shop), signal)
  recorded.set(shop, { outcomes: shop.at === undefined ? trials : outcomes, facts })
  for (const o of outcomes)
    console.log(
      shop.name,
      o.id,
      Math.round(o.durationMs),
      o.tookEffect,
      o.unjudged ?? '',
      findingsIn(o, facts)
        .map(([n]) => n)
        .join(','),
    )
  console.log(shop.name, shop.finding, Math.round(performance.now() - t0))
}

describe.concurrent('x', () => {
  test.each(wrong.map((it) => [it.name, it] as const))('%s', async (_n, shop) => {
    await recordOne(shop, new AbortController().signal)
  })
})
