import { describe, expect, it } from 'vitest'
import {
  filled,
  filledExpression,
  referencesIn,
  UnknownVariable,
} from '../../../../../src/cli/commands/scenario/runner/variables.js'

const variables = new Map<string, unknown>([
  ['id', 'vch_1'],
  ['count', 3],
  ['record', { a: [1] }],
  ['quoted', '") | env'],
])

describe('variables', () => {
  it('stand in texts, in names of members, and whole for themselves', () => {
    expect(filled({ a: 'x-${id}', '${id}': ['${count}', '${ record }'], n: 5, no: null }, variables)).toEqual({
      a: 'x-vch_1',
      vch_1: [3, { a: [1] }],
      n: 5,
      no: null,
    })
  })

  it('$${ stays what it means', () => {
    expect(filled('$${id} is ${id}', variables)).toBe('${id} is vch_1')
  })

  it('stand in jq as JSON, so that no value becomes code', () => {
    expect(filledExpression('.id == ${quoted} and .n == ${count}', variables)).toBe('.id == "\\") | env" and .n == 3')
  })

  it('are an error when no step has set them', () => {
    expect(() => filled({ a: ['${other}'] }, variables)).toThrow(UnknownVariable)
  })

  it('are found wherever they stand', () => {
    expect(referencesIn({ '${a}': ['${b} and ${c}', { d: '$${no}' }], e: 1 })).toEqual(['a', 'b', 'c'])
  })
})
