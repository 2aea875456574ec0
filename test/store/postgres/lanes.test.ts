import { expect, it } from 'vitest'
import { Lanes } from '../../../src/store/postgres/lanes.js'

it('so many run at a time, in their order, and drained waits for the last of them', async () => {
  const waiting = [1, 2, 3, 4, 5]
  const begun: number[] = []
  const ends: (() => void)[] = []
  const lanes = new Lanes(2, () => {
    const it = waiting.shift()
    if (it === undefined) return null
    begun.push(it)
    return new Promise((resolve) => ends.push(resolve))
  })
  lanes.schedule()
  expect(begun).toEqual([])
  let isDrained = false
  const drained = lanes.drained().then(() => {
    isDrained = true
  })
  /** What ended is told in one tick, what follows it begins at the end of the next. */
  const turn = async () => {
    for (let tick = 0; tick < 2; tick++) await new Promise((resolve) => setImmediate(resolve))
  }
  for (const should of [
    [1, 2],
    [1, 2, 3],
    [1, 2, 3, 4],
    [1, 2, 3, 4, 5],
  ]) {
    await turn()
    expect(begun).toEqual(should)
    expect(isDrained).toBe(false)
    ends.shift()?.()
  }
  await turn()
  expect(isDrained).toBe(false)
  ends.shift()?.()
  await drained
})

it('with nothing to do is drained at once', () => new Lanes(2, () => null).drained())
