import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { Fingerprints } from '../../../../../src/cli/commands/vouchers/bulk/fingerprints.js'

const digest = (text: string) => hash('sha256', text, 'buffer')

test('every fingerprint is found with its number, and no other, while the set grows', () => {
  const set = new Fingerprints()
  const count = 50_000
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  expect(numbers.filter((n) => set.add(digest(`id-${n}`), n) !== undefined)).toEqual([])
  expect(set.size).toBe(count)
  expect(numbers.filter((n) => set.find(digest(`id-${n}`)) !== n)).toEqual([])
  expect(numbers.filter((n) => set.find(digest(`other-${n}`)) !== undefined)).toEqual([])
})

test('what is added twice keeps its first number', () => {
  const set = new Fingerprints()
  set.add(digest('a'), 7)
  expect([set.add(digest('a'), 9), set.find(digest('a')), set.size]).toEqual([7, 7, 1])
})

test('fingerprints that begin in the same slot are told apart', () => {
  const set = new Fingerprints()
  const at = (high: number, low: number) => {
    const bytes = Buffer.alloc(32)
    bytes.writeUInt32LE(high, 0)
    bytes.writeUInt32LE(low, 4)
    return bytes
  }
  for (let low = 1; low <= 100; low += 1) set.add(at(1023, low), low)
  expect([1, 50, 100].map((low) => set.find(at(1023, low)))).toEqual([1, 50, 100])
  expect(set.find(at(1023, 101))).toBeUndefined()
})
