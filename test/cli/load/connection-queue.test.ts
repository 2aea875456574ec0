import { expect, test } from 'vitest'
import { ConnectionQueue, WAITING_MAX } from '../../../src/cli/load/connection-queue.js'

/** A queue with a task that records its number and runs until `end` is called. */
function recording(connections: number) {
  const queue = new ConnectionQueue(connections)
  const started: number[] = []
  const ends: (() => void)[] = []
  const add = (number: number) =>
    queue.add(() => {
      started.push(number)
      return new Promise((resolve) => ends.push(resolve))
    })
  const end = async () => {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { queue, started, add, end }
}

test('connection queue runs as many tasks as connections, then the others in order', async () => {
  const { queue, started, add, end } = recording(2)
  for (const it of [1, 2, 3, 4]) add(it)
  expect([started, queue.waiting]).toEqual([[1, 2], 2])
  await end()
  expect([started, queue.waiting]).toEqual([[1, 2, 3], 1])
  await end()
  expect([started, queue.waiting, queue.waitingMax]).toEqual([[1, 2, 3, 4], 0, 2])
})

test('connection queue refuses a task when 10,000 wait', () => {
  const { queue, add } = recording(1)
  add(0)
  for (let i = 1; i <= WAITING_MAX; i += 1) expect(add(i)).toBe(true)
  expect([add(1), queue.waiting]).toEqual([false, WAITING_MAX])
})

test('ConnectionQueue.idle() resolves after the last task, and immediately without a task', async () => {
  const { queue, add, end } = recording(1)
  await queue.idle()
  add(1)
  add(2)
  let isIdle = false
  const idle = queue.idle().then(() => {
    isIdle = true
  })
  await end()
  expect(isIdle).toBe(false)
  await end()
  await idle
})

test('ConnectionQueue.clear() removes waiting tasks, not running ones', async () => {
  const { queue, started, add, end } = recording(1)
  add(1)
  add(2)
  queue.clear()
  await end()
  await queue.idle()
  expect(started).toEqual([1])
})
