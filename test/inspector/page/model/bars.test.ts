import { expect, test } from 'vitest'
import { barsOf } from '../../../../src/inspector/page/model/bars.js'

test('bars stand on the lower edge, and the highest has the full height', () => {
  const bars = barsOf([{ issued: 10, redeemed: 5 }], 100, 50)
  expect(bars.map(({ y, height }) => [y, height])).toEqual([
    [0, 50],
    [25, 25],
  ])
})

test('bar of 0 has no height, and a small bar is visible', () => {
  const bars = barsOf(
    [
      { issued: 100_000, redeemed: 1 },
      { issued: 0, redeemed: 0 },
    ],
    100,
    50,
  )
  expect(bars.map((it) => it.height)).toEqual([50, 1, 0, 0])
})

test('bars of empty periods have no height', () => {
  expect(barsOf([{ issued: 0, redeemed: 0 }], 100, 50).map((it) => it.height)).toEqual([0, 0])
})

test('bars do not overlap and stay inside', () => {
  const bars = barsOf(
    Array.from({ length: 24 }, () => ({ issued: 1, redeemed: 1 })),
    600,
    50,
  )
  for (const [index, bar] of bars.entries()) {
    expect(bar.x + bar.width).toBeLessThanOrEqual((bars[index + 1]?.x ?? 600) + 1e-9)
  }
})
