import { describe, expect, it } from 'vitest'
import type { Equivalent } from './equivalents.js'
import { compare, type Mutant } from './verdict.js'

const source = 'function limit(n: number) {\n  if (n > 3) {\n    return 3\n  }\n  return n\n}\n'
const condition = { start: { line: 2, column: 7 }, end: { line: 2, column: 12 } }
const block = { start: { line: 2, column: 14 }, end: { line: 4, column: 4 } }
const mutant = (status: string, change: Partial<Mutant> = {}): Mutant => ({
  mutatorName: 'EqualityOperator',
  replacement: 'n >= 3',
  status,
  location: condition,
  ...change,
})
const listed = { from: 'if (n > 3) {', to: ['if (n >= 3) {'], reason: 'both return 3' }
const verdictOn = (mutants: Mutant[], entries: Equivalent[] = [listed], whole = true) =>
  compare({ 'a.ts': { source, mutants } }, { 'a.ts': entries }, whole)

describe('verdict on mutants', () => {
  it.each(['Killed', 'Timeout', 'RuntimeError'])('mutant with the status %s is killed', (status) => {
    expect(verdictOn([mutant(status)], [])).toEqual({
      lines: [],
      counts: { all: 1, killed: 1, listed: 0, alive: 0 },
      failed: false,
    })
  })

  it.each(['Survived', 'NoCoverage'])('mutant with the status %s is reported unless it is listed', (status) => {
    const counts = { all: 1, killed: 0 }
    expect(verdictOn([mutant(status)])).toEqual({
      lines: [],
      counts: { ...counts, listed: 1, alive: 0 },
      failed: false,
    })
    expect(verdictOn([mutant(status)], [])).toEqual({
      lines: [`a.ts:2 ${status} (EqualityOperator)\n  - if (n > 3) {\n  + if (n >= 3) {\n`],
      counts: { ...counts, listed: 0, alive: 1 },
      failed: true,
    })
  })

  it('mutant of several lines is shown by its first line', () => {
    const emptied = mutant('Survived', { replacement: '{}', location: block })
    expect(verdictOn([emptied], []).lines[0]).toContain('\n  - if (n > 3) {\n  + if (n > 3) {}\n')
  })

  it('entry with several changes covers each mutant', () => {
    const both = { ...listed, to: [...listed.to, 'if (n < 3) {'] }
    expect(verdictOn([mutant('Survived'), mutant('Survived', { replacement: 'n < 3' })], [both]).counts.listed).toBe(2)
  })

  it('listed mutant that is killed or gone is reported as stale if whole files were mutated', () => {
    const stale = ['a.ts: stale entry of equivalents.txt\n  - if (n > 3) {\n  + if (n >= 3) {\n']
    expect(verdictOn([mutant('Killed')])).toMatchObject({ lines: stale, failed: true })
    expect(verdictOn([])).toMatchObject({ lines: stale, failed: true })
    expect(verdictOn([], [listed], false).failed).toBe(false)
  })
})
