import { expect, test } from 'vitest'
import { endpoints } from '../../../../src/contract/index.js'
import * as chatCalls from '../../../../src/inspector/page/model/chat-calls.js'
import {
  commandLine,
  type PlannedCall,
  pathOf,
  plannedRequestOf,
} from '../../../../src/inspector/page/model/planned-call.js'

const planned: readonly PlannedCall[] = [
  chatCalls.startChat('bot_1', 'user-1'),
  chatCalls.sendAsUser('chat_1', 'Hello'),
  chatCalls.blockBot('chat_1'),
  chatCalls.unblockBot('chat_1'),
]

test.each(planned)('$endpoint is planned with method, path, parameters and body of the contract', (call) => {
  const endpoint = endpoints.find(({ id }) => id === call.endpoint)
  expect(endpoint).toMatchObject({ method: call.method, path: call.route, status: call.status })
  expect(pathOf(call)).not.toContain(':')
  const body = endpoint?.body as { properties?: object; required?: string[] } | undefined
  const members = Object.keys(call.body ?? {})
  expect(Object.keys(body?.properties ?? {})).toEqual(expect.arrayContaining(members))
  expect(members).toEqual(expect.arrayContaining(body?.required ?? []))
})

test('planned request escapes a parameter and has the idempotency key as header', () => {
  const call = { ...(planned[1] as PlannedCall), params: { chatId: 'a/b' }, idempotencyKey: 'key-1' }
  expect(plannedRequestOf(call)).toMatchObject({ url: '/_platform/v1/chats/a%2Fb/messages' })
  expect(plannedRequestOf(call).headers).toContainEqual(['Idempotency-Key', 'key-1'])
})

test('command line quotes values and omits flags without a value', () => {
  expect(commandLine('vouchers redeem', { reference: "it's", recipient: '' })).toBe(
    "voucherctl vouchers redeem --reference 'it'\\''s'",
  )
})
