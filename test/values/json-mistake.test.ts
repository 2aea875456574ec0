import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonMistake } from '../../src/values/json-mistake.js'

const isJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test.each([
  ['', 1, 1, 'a value'],
  ['{"a": 1,\n "b" 2}', 2, 6, ':'],
  ['{\n  "a": [1, 2,]\n}', 2, 14, 'a value'],
  ['[1 2]', 1, 4, ', or ]'],
  ['[', 1, 2, 'a value'],
  ['{', 1, 2, '" or }'],
  ["{'a': 1}", 1, 2, '" or }'],
  ['{"a": \'b\'}', 1, 7, 'a value'],
  ['{"a": "b\n"}', 1, 7, 'a value'],
  ['{} {}', 1, 4, 'the end'],
  ['[01]', 1, 3, ', or ]'],
])('jsonMistake finds in %j line %i, column %i, where it needs %s', (text, line, column, wanted) => {
  expect(jsonMistake(text)).toEqual({ line, column, message: `JSON needs ${wanted} here.` })
})

test('jsonMistake accepts exactly the texts that JSON.parse accepts', () => {
  const pieces = fc.constantFrom(...'{}[],: \t\n\\'.split(''), '""', '"a"', '"\\u00e9"', '1', '-0.5e+1', 'true', 'nul')
  const changed = fc
    .tuple(fc.json(), fc.nat(), fc.nat(2), fc.string({ unit: pieces, maxLength: 2 }))
    .map(([text, at, cut, piece]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + piece + text.slice(place + cut)
    })
  const texts = fc.oneof(fc.json(), changed, fc.string({ unit: pieces, maxLength: 8 }))
  fc.assert(
    fc.property(texts, (text) => {
      expect(jsonMistake(text) === undefined).toBe(isJson(text))
    }),
    { numRuns: 1000 },
  )
})
