import fc from 'fast-check'
import { expect, test } from 'vitest'
import { indentJson, jsonParts } from '../../../../src/inspector/page/model/json-text.js'

test('indented JSON is what JSON.stringify writes', () => {
  const write = (value: unknown) => JSON.stringify(value, null, 2)
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(indentJson(JSON.stringify(value))).toBe(write(value))
    }),
    { seed: 1 },
  )
})

test('indented JSON keeps the digits of numbers and the escapes of strings', () => {
  expect(indentJson(' {"a" :12345678901234567890,"b":[1.50, "\\u00e9 {,}:"], "c":{ }} ')).toBe(
    '{\n  "a": 12345678901234567890,\n  "b": [\n    1.50,\n    "\\u00e9 {,}:"\n  ],\n  "c": {}\n}',
  )
})

test('text that is not JSON is not indented', () => {
  expect(['', '{', 'null x', '{"a":1}{'].map(indentJson)).toEqual([null, null, null, null])
})

test('indented JSON of 30,000 levels stays small', () => {
  const text = indentJson('['.repeat(30_000) + ']'.repeat(30_000)) ?? ''
  expect(text.length).toBeLessThan(4_000_000)
})

test('indented JSON is split so that tokens and the text between them alternate', () => {
  const text = indentJson('{"a b":["x\\"y",-1.5e3,true,null]}') ?? ''
  const parts = jsonParts(text)
  expect(parts.join('')).toBe(text)
  expect(parts.filter((_it, index) => index % 2)).toEqual(['"a b":', '"x\\"y"', '-1.5e3', 'true', 'null'])
})

// With quadratic time each of these texts would take minutes.
test.each(['\\"', '"\\"', '\\"\n'])('parts of a text of quotes without an end take linear time: %j', (part) => {
  const text = `"${part.repeat(1_000_000 / part.length)}\\`
  expect(jsonParts(text).join('')).toBe(text)
})
