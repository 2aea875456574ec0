import { expect, test } from 'vitest'
import { type EcdhCase, jwkCases, pointCases, skippedJwkIds, wrongCases } from './ecdh-cases.js'

test('every valid ECDH case of Wycheproof gives its shared secret, every other is refused', () => {
  expect(wrongCases(pointCases)).toEqual([])
  // 346 cases are in both Wycheproof files: run each once.
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const keyOf = ({ point, privateKey }: EcdhCase) => `${hex(point)} ${hex(privateKey)}`
  const known = new Set(pointCases.map(keyOf))
  const others = jwkCases.filter((it) => !skippedJwkIds.includes(it.tcId) && !known.has(keyOf(it)))
  expect(others.length).toBeGreaterThan(0)
  expect(wrongCases(others)).toEqual([])
})
