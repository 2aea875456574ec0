import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decodePart, readTarget } from '../../src/values/path-part.js'

it.each([
  ['a%2Fb%20c', 'a/b c'],
  ['50%', '50%'],
  ['%E0%A4%A', '%E0%A4%A'],
])('decodePart returns the part %j of a path as %j', (part, decoded) => {
  expect(decodePart(part)).toBe(decoded)
})

it.each([
  ['/bots/a%2Fb?limit=1&x=a?b', { botId: 'a/b' }, 'limit=1&x=a%3Fb'],
  ['http://host/bots/%ZZ#limit=1', { botId: '%ZZ' }, 'limit=1'],
  ['*', { botId: '' }, ''],
  ['//host/bots/b', { botId: 'host' }, ''],
])('readTarget reads the target %j', (target, params, query) => {
  const read = readTarget('/bots/:botId', target)
  expect([read.params, String(read.query)]).toEqual([params, query])
})

it('readTarget reads a target of any bytes', () => {
  const bytes = fc.uint8Array({ maxLength: 200 }).map((it) => Buffer.from(it).toString('latin1'))
  const parts = fc.array(fc.oneof(bytes, fc.constantFrom('/', '%', '?', '#', '//', '\ud800', '%2F', '%00')))
  fc.assert(
    fc.property(parts, (it) => {
      const { params, query } = readTarget('/:a/:b', it.join(''))
      expect([Object.keys(params), typeof String(query)]).toEqual([['a', 'b'], 'string'])
    }),
    { seed: 1 },
  )
})
