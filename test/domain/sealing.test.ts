import { expect, it } from 'vitest'
import { seal, unseal } from '../../src/domain/sealing.js'
import { seededRandom, testKey } from '../support/server/app.js'

const ring = { current: testKey, all: [testKey] }
const random = seededRandom('sealing')

it('sealed value can be opened only with the id of its owner', { tags: 'stored-secrets/2' }, () => {
  const sealed = seal(ring, 'bot_1', 'secret', random)
  expect(unseal(ring, 'bot_1', sealed)).toBe('secret')
  for (const other of ['bot_2', '', 'bot_11']) expect(() => unseal(ring, other, sealed)).toThrow()
})

it('sealed value with a changed IV or ciphertext cannot be opened', () => {
  const [id, iv = '', bytes = ''] = seal(ring, 'bot_1', 'secret', random).split('.')
  const flipped = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
  expect(() => unseal(ring, 'bot_1', [id, flipped(iv), bytes].join('.'))).toThrow()
  expect(() => unseal(ring, 'bot_1', [id, iv, flipped(bytes)].join('.'))).toThrow()
  expect(() => unseal(ring, 'bot_1', [id, iv, bytes.slice(0, 21)].join('.'))).toThrow()
  for (const value of ['', id, `${id}.${iv}`]) expect(() => unseal(ring, 'bot_1', value as string)).toThrow()
})

it('sealed value whose authentication tag was shortened to a length of GCM cannot be opened', () => {
  const [id, iv, tag = ''] = seal(ring, 'bot_1', '', random).split('.')
  expect(tag).toHaveLength(22)
  expect(() => unseal(ring, 'bot_1', [id, iv, tag.slice(0, 16)].join('.'))).toThrow()
})

it('sealed value names its key, and a ring without this key cannot open it', () => {
  const sealed = seal(ring, 'bot_1', 'secret', random)
  expect(sealed).toMatch(/^key_test\.[\w-]{16}\.[\w-]+$/)
  const other = { ...testKey, id: 'key_other' }
  expect(unseal({ current: other, all: [other, testKey] }, 'bot_1', sealed)).toBe('secret')
  expect(() => unseal({ current: other, all: [other] }, 'bot_1', sealed)).toThrow(
    'credential key key_test is not in the key file',
  )
})

it('value that was sealed by an earlier version can still be opened', () => {
  expect(unseal(ring, 'bot_1', 'key_test.BwcHBwcHBwcHBwcH.GsgAhk5LerHgTtvfY4vD4_t4NPWOTA')).toBe('secret')
})
