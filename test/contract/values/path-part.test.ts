import { expect, it } from 'vitest'
import { decodePart } from '../../../src/contract/values/path-part.js'

it.each([
  ['a%2Fb%20c', 'a/b c'],
  ['50%', '50%'],
  ['%E0%A4%A', '%E0%A4%A'],
])('decodePart returns the part %j of a path as %j', (part, decoded) => {
  expect(decodePart(part)).toBe(decoded)
})
