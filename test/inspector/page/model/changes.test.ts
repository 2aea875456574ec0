import { expect, test } from 'vitest'
import { endpoints } from '../../../../src/contract/index.js'
import type { Entry } from '../../../../src/inspector/page/model/activity-log.js'
import { changesSomeBot, changesSomeChat } from '../../../../src/inspector/page/model/changes.js'

const calls = (changes: (entry: Entry) => boolean) =>
  endpoints.flatMap(({ id: type }) => (changes({ type } as Entry) ? [type] : [])).sort()

test('calls after which a bot may differ are those that decide on it, link it or change its settings', () => {
  expect(calls(changesSomeBot)).toEqual([
    ...['apps.linkBot', 'apps.unlinkBot', 'bots.get', 'bots.regenerateToken', 'bots.update'],
    ...['platform.approveBot', 'platform.borrowWebhook', 'platform.callAsBot', 'platform.disableBot'],
    ...['platform.enableBot', 'platform.rejectBot', 'platform.returnWebhook'],
    ...['webhook.delete', 'webhook.set', 'webhook.setByBot'],
  ])
})

test('calls and deliveries after which a chat may differ start it or change its block', () => {
  expect(calls(changesSomeChat)).toEqual(['platform.blockChat', 'platform.createChat', 'platform.unblockChat'])
  expect(changesSomeChat({ type: 'my_chat_member' } as Entry)).toBe(true)
  expect(changesSomeChat({ type: 'message' } as Entry)).toBe(false)
})
