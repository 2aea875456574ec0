import { expect, test } from 'vitest'
import { fromCaller, fromCallers } from '../../src/testing/caller-stack.js'

const failLater = () =>
  new Promise<never>((_resolve, reject) => setImmediate(() => reject(new RangeError('two\n    at lines'))))
const call = () => fromCaller(call, failLater)

test('the stack of an error from a timer begins at the call and keeps the frames of the timer', async () => {
  const error: Error = await (function caller() {
    return call()
  })().catch((it) => it)
  expect(error.stack).toMatch(/^RangeError: two\n {4}at lines\n {4}at caller \(.*caller-stack\.test\.ts/)
  expect(error.stack).toMatch(/^ {4}at .*Immediate/m)
})

test('each method of an object and of its groups begins the stack of its error at its call', async () => {
  const wrapped = fromCallers({ call: failLater, group: { call: failLater } })
  for (const method of [wrapped.call, wrapped.group.call]) {
    const error: Error = await (function caller() {
      return method()
    })().catch((it) => it)
    expect(error.stack).toMatch(/lines\n {4}at caller \(/)
  }
})

test('pages of a list keep their order, and an error begins at the loop that requested the page', async () => {
  async function* pages(last: number) {
    for (let page = 1; page <= last; page++) yield page
    await failLater()
  }
  const { list } = fromCallers({ list: Object.assign(async () => 0, { pages }) })
  const read: number[] = []
  const error: Error = await (async function caller() {
    for await (const page of list.pages(2)) read.push(page)
  })().catch((it) => it)
  expect(read).toEqual([1, 2])
  expect(error.stack).toMatch(/lines\n {4}at caller \(/)
  for await (const page of list.pages(2)) if (page === 1) break
  expect(await list()).toBe(0)
})

test('results are passed on, and so is a thrown value without a stack', async () => {
  const wrapped = fromCallers({ double: async (number: number) => number * 2, fail: () => Promise.reject('text') })
  expect(await wrapped.double(4)).toBe(8)
  await expect(wrapped.fail()).rejects.toBe('text')
})
