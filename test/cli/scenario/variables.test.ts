import { describe, expect, it } from 'vitest'
import { filled, filledExpression, referencesIn, UnknownVariable } from '../../../src/cli/scenario/variables.js'

const variables = new Map<string, unknown>([
  ['id', 'vch_1'],
  ['count', 3],
  ['record', { a: [1] }],
  ['quoted', '") | env'],
])

describe('variables', () => {
  it('filled() replaces variables in strings and names; a variable alone keeps its type', () => {
    expect(filled({ a: 'x-${id}', '${id}': ['${count}', '${ record }'], n: 5, no: null }, variables)).toEqual({
      a: 'x-vch_1',
      vch_1: [3, { a: [1] }],
      n: 5,
      no: null,
    })
  })

  it('filled() replaces the escape $${ with ${ and inserts no variable', () => {
    expect(filled('$${id} is ${id}', variables)).toBe('${id} is vch_1')
  })

  it('filledExpression() inserts variables into jq as JSON, so that no value becomes code', () => {
    expect(filledExpression('.id == ${quoted} and .n == ${count}', variables)).toBe('.id == "\\") | env" and .n == 3')
  })

  it('filled() throws UnknownVariable for an undefined variable', () => {
    expect(() => filled({ a: ['${other}'] }, variables)).toThrow(UnknownVariable)
  })

  it('referencesIn finds variables in strings, member names and lists', () => {
    expect(referencesIn({ '${a}': ['${b} and ${c}', { d: '$${no}' }], e: 1 })).toEqual(['a', 'b', 'c'])
  })
})
