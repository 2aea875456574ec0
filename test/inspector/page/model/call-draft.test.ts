import { expect, test } from 'vitest'
import type { EndpointId } from '../../../../src/contract/index.js'
import { memberFields, readInput } from '../../../../src/inspector/page/model/call-draft.js'
import { referenceEndpoints, referenceOf } from '../../../support/page/reference.js'

const readOf = (id: EndpointId, texts: Readonly<Record<string, string>>) =>
  readInput(referenceOf(id), (name) => texts[name] ?? '')

test('form of a call has a field for each own member, with the example of the contract', () => {
  const fields = memberFields(referenceOf('vouchers.redeem'))
  expect(Object.keys(fields)).toEqual(['credential', 'recipient_user_id', 'reference', 'metadata'])
  expect(fields.credential).toMatchObject({ label: 'credential required', lines: true })
  expect(JSON.parse(String(fields.credential?.value))).toMatchObject({ type: 'redeem_code' })
  expect(fields.reference).toEqual({ label: 'reference', value: 'till-4', optional: true })
})

test('form of a call offers the values of a member, and for an optional one that it is not sent', () => {
  const { fulfillment_category: category, issue_limit: limit } = memberFields(referenceOf('templates.create'))
  const values = category?.options?.map(([value]) => value)
  expect(values).toContain('offline_service')
  expect(values).not.toContain('')
  expect(limit).toMatchObject({ isNumber: true })
  const { follow } = memberFields(referenceOf('platform.activity'))
  expect(follow?.options?.[0]).toEqual(['', 'not sent'])
})

test('examples of every form are valid input of the call', () => {
  for (const endpoint of referenceEndpoints) {
    const fields = memberFields(endpoint)
    const input = readInput(endpoint, (name) => String(fields[name]?.value))
    const required = endpoint.members.filter((it) => it.required && !/[.[]/.test(it.name)).map((it) => it.name)
    expect([endpoint.id, typeof input]).toEqual([endpoint.id, 'object'])
    const missing = required.filter((name) => !Object.hasOwn(Object(input), name))
    expect([endpoint.id, missing]).toEqual([endpoint.id, []])
  }
})

test('input of a call has texts, numbers, records and null as the contract types them', () => {
  const issue = { template_id: '12', external_issue_id: 'null', recipient_user_id: 'user-1', metadata: '{"a":"b"}' }
  expect(readOf('vouchers.issue', issue)).toEqual({ ...issue, metadata: { a: 'b' } })
  expect(readOf('platform.advanceClock', { seconds: '60' })).toEqual({ seconds: 60 })
})

test('input of a call names the field that is not JSON, or that the path needs', () => {
  expect(readOf('vouchers.issue', { metadata: '{' })).toBe('metadata must be JSON, such as 12 or {"name": "value"}.')
  expect(readOf('platform.blockChat', {})).toBe('chatId is part of the path: fill it in.')
})
