import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Host } from '../../../src/cli/host/host.js'
import { withProgress } from '../../../src/cli/output/progress.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** What a terminal of this width has shown when work was pending for a second. */
async function shownAfterASecond(columns: number): Promise<string> {
  let shown = ''
  let cleared = 0
  const nothing = () => {}
  const clearLine = () => {
    if (++cleared > 1_000) throw new Error('The spinner clears lines without end.')
  }
  const stderr = {
    write: (it: string) => (shown += it),
    isTTY: true,
    columns,
    ...{ cursorTo: nothing, moveCursor: nothing, clearLine },
    ...{ once: nothing, on: nothing, off: nothing, removeListener: nothing },
  }
  let finish = nothing
  const work = new Promise<void>((resolve) => {
    finish = resolve
  })
  const pending = withProgress({ stderr, env: {} } as unknown as Host, 'Working …', work)
  await vi.advanceTimersByTimeAsync(1_000)
  await vi.dynamicImportSettled()
  finish()
  await pending
  return shown
}

test('a terminal shows a spinner while work is pending', async () => {
  expect(await shownAfterASecond(80)).toContain('Working …')
})

test('a terminal without a width shows no spinner, whose lines could not be counted', async () => {
  expect(await shownAfterASecond(0)).toBe('')
})
