import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { showLiveLine } from '../../../src/cli/output/live-line.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly term?: string
  readonly isJson?: boolean
  readonly quiet?: boolean
  readonly debug?: boolean
}

/** Shows a line for 10 s and ends it. Returns what stderr got. */
function shown({ isTTY = true, columns = 20, term = 'xterm', isJson = false, quiet = false, debug = false }: Screen) {
  let text = ''
  let count = 0
  const stderr = { isTTY, columns, write: (it: string | Uint8Array) => void (text += it) }
  const surroundings = { host: { stderr, env: { TERM: term } }, output: { isJson }, globals: { quiet, debug } }
  const end = showLiveLine(surroundings, (width) => `${++count} of ${width}`)
  vi.advanceTimersByTime(10_000)
  end()
  vi.advanceTimersByTime(10_000)
  return text
}

test('a live line is redrawn every 200 ms on a terminal and cleared at the end', () => {
  const text = shown({})
  expect(text.startsWith('\r\u001b[K1 of 17\r\u001b[K2 of 17')).toBe(true)
  expect(text.endsWith('\r\u001b[K50 of 17\r\u001b[K')).toBe(true)
})

test.each<[string, Screen]>([
  ['without a terminal', { isTTY: false }],
  ['on a dumb terminal', { term: 'dumb' }],
  ['with --debug', { debug: true }],
])('a live line is a whole line every 10 s %s', (_name, screen) => {
  expect(shown(screen)).toBe('1 of 17\n')
})

test('a live line assumes 80 columns on a terminal that reports 0', () => {
  expect(shown({ columns: 0, term: 'dumb' })).toBe('1 of 77\n')
})

test.each<[string, Screen]>([
  ['with --quiet', { quiet: true }],
  ['for a script that reads JSON', { isTTY: false, isJson: true }],
])('a live line is not shown %s', (_name, screen) => {
  expect(shown(screen)).toBe('')
})
