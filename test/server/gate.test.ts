import { expect, it } from 'vitest'
import { Gate } from '../../src/server/gate.js'
import { StoreUnavailable } from '../../src/store/store.js'

/** Closes a gate for work that lasts until `finish`. */
async function closeFor(gate: Gate, finished: () => void = () => {}) {
  let finish = () => {}
  let done = Promise.resolve()
  await new Promise<void>((begun) => {
    const work = () =>
      new Promise<void>((resolve) => {
        begun()
        finish = () => {
          finished()
          resolve()
        }
      })
    done = gate.runExclusive(work, () => {})
  })
  return () => {
    finish()
    return done
  }
}

it('gate refuses calls while work takes longer than calls may wait, and runs them afterwards', async () => {
  const gate = new Gate(0)
  const finish = await closeFor(gate)
  const call = async () => 'done'
  // The first call waits until its time is over; later ones are refused immediately.
  for (let calls = 0; calls < 3; calls++) await expect(gate.run(call)).rejects.toBeInstanceOf(StoreUnavailable)
  await finish()
  expect(await gate.run(call)).toBe('done')
})

it('gate runs calls that arrive during short work after the work', async () => {
  const gate = new Gate(60_000)
  const order: string[] = []
  const finish = await closeFor(gate, () => order.push('work'))
  const call = gate.run(async () => order.push('call'))
  await finish()
  await call
  expect(order).toEqual(['work', 'call'])
})
