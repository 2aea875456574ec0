import { expect, it } from 'vitest'
import { defaultUpdateTypes } from '../../src/contract/updates.js'
import { chosenTypes, isWanted, updateBody, updateSubject, wantedTypes } from '../../src/domain/update.js'

it('bot receives the default update types unless it has chosen others', { tags: 'update-types/1' }, () => {
  expect(wantedTypes(null)).toBe(defaultUpdateTypes)
  expect(wantedTypes('["voucher_issued"]')).toEqual(['voucher_issued'])
  expect(isWanted('ping', null)).toBe(true)
  expect(isWanted('voucher_issued', null)).toBe(false)
  expect(isWanted('voucher_issued', '["voucher_issued"]')).toBe(true)
  expect(isWanted('ping', '["voucher_issued"]')).toBe(false)
})

it('chosen update types replace the previous ones; none means the default', { tags: 'update-types/1' }, () => {
  expect(chosenTypes(undefined, '["ping"]')).toBe('["ping"]')
  expect(chosenTypes(undefined, null)).toBeNull()
  expect(chosenTypes([], '["ping"]')).toBeNull()
  expect(chosenTypes(['message', 'ping', 'message'], null)).toBe('["message","ping"]')
})

it('body of an update has its id, type, time and the payload under the name of the type', { tags: 'updates/1' }, () => {
  expect(updateBody(7, 'ping', { a: 1 }, 0)).toBe(
    '{"update_id":7,"type":"ping","created_at":"1970-01-01T00:00:00.000Z","ping":{"a":1}}',
  )
})

it('subject of a stored update is its type and its voucher, if it has one', () => {
  const subject = (type: 'voucher_issued' | 'voucher_redeemed' | 'ping', payload: object) =>
    updateSubject(updateBody(1, type, payload, 0))
  expect(subject('voucher_issued', { voucher: { id: 'vch_1' } })).toEqual({
    type: 'voucher_issued',
    voucherId: 'vch_1',
  })
  expect(subject('voucher_redeemed', { redemption: { voucherId: 'vch_2' } })).toEqual({
    type: 'voucher_redeemed',
    voucherId: 'vch_2',
  })
  expect(subject('ping', {})).toEqual({ type: 'ping', voucherId: null })
  expect(updateSubject('{"update_id":1}')).toEqual({ type: '', voucherId: null })
})
