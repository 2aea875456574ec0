import { describe, expect, it } from 'vitest'
import { differences } from '../../../src/cli/scenario/assertion.js'

const lines = (expected: unknown, actual: unknown) => differences(expected, actual, 'data')

describe('differences', () => {
  it.each([
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: { b: null } }, { a: { b: null, c: 3 } }],
    [{ a: [{ b: 1 }] }, { a: [{ b: 1, c: 2 }] }],
    ['x', 'x'],
    [{}, { a: 1 }],
  ])('the expectation %j matches the value %j', { tags: 'scenarios/2' }, (expected, actual) => {
    expect(lines(expected, actual)).toEqual([])
  })

  it.each([
    [{ a: 1 }, { a: '1' }, 'data.a: expected 1, got "1"'],
    [{ a: { b: 1 } }, { a: {} }, 'data.a.b: expected 1, got nothing'],
    [{ a: [1] }, { a: [1, 2] }, 'data.a: expected [1], got [1,2]'],
    [{ a: [1] }, { a: { 0: 1 } }, 'data.a: expected [1], got {"0":1}'],
    [{ a: { b: 1 } }, { a: [1] }, 'data.a: expected {"b":1}, got [1]'],
    [{ toString: 1 }, {}, 'data.toString: expected 1, got nothing'],
    [null, undefined, 'data: expected null, got nothing'],
  ])('expectation %j does not match %j, with the path', { tags: 'scenarios/2' }, (expected, actual, line) => {
    expect(lines(expected, actual)).toEqual([line])
  })

  it('differences() returns every difference between expectation and value', { tags: 'scenarios/2' }, () => {
    expect(lines({ a: 1, b: [2], c: 3 }, { a: 0, b: [0], c: 3 })).toEqual([
      'data.a: expected 1, got 0',
      'data.b[0]: expected 2, got 0',
    ])
  })
})
