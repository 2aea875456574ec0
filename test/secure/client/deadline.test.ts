import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemTimer, within } from '../../../src/secure/client/deadline.js'
import { makeTimers } from '../fake-server.js'

describe('system timer', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([1_000, 2 ** 31 - 1])('system timer runs once after %i ms', (ms) => {
    const run = vi.fn()
    systemTimer(run, ms)
    vi.advanceTimersByTime(ms - 1)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(run).toHaveBeenCalledTimes(1)
  })

  it('system timer with a delay above the maximum of Node runs after this maximum', () => {
    const run = vi.fn()
    systemTimer(run, 2 ** 40)
    vi.advanceTimersByTime(2 ** 31 - 2)
    expect(run).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(run).toHaveBeenCalledTimes(1)
  })

  it('cancelled system timer does not run', () => {
    const run = vi.fn()
    systemTimer(run, 1_000)()
    vi.advanceTimersByTime(2_000)
    expect(run).not.toHaveBeenCalled()
  })
})

describe('work with a deadline', () => {
  const { setTimer } = makeTimers()

  it('work is not started for a caller that has already aborted', async () => {
    const work = vi.fn(async () => 1)
    const signal = AbortSignal.abort()
    expect(await within(work, { timeoutMs: 1_000, setTimer, signal })).toEqual({ ended: 'aborted' })
    expect(work).not.toHaveBeenCalled()
  })

  it('abort of the caller ends the work and aborts its signal', async () => {
    const caller = new AbortController()
    const signals: AbortSignal[] = []
    const work = (signal: AbortSignal) => {
      signals.push(signal)
      return new Promise<number>(() => {})
    }
    const ending = within(work, { timeoutMs: 1_000, setTimer, signal: caller.signal })
    caller.abort()
    expect(await ending).toEqual({ ended: 'aborted' })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('finished work leaves no listener on the signal of its caller', async () => {
    const { signal } = new AbortController()
    expect(await within(async () => 1, { timeoutMs: 1_000, setTimer, signal })).toEqual({ ended: 'done', value: 1 })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
