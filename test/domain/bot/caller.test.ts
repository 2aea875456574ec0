import { describe, expect, it } from 'vitest'
import { type BotCallerRow, refuseBotCall } from '../../../src/domain/bot/caller.js'

const unlinked: BotCallerRow = {
  account_id: 'acc',
  scopes: '["messages:send"]',
  revoked_at: null,
  bot_id: 'bot_1',
  bot_status: 'active',
  application_id: null,
}
const linked = {
  ...unlinked,
  application_id: 'app_1',
  status: 'active',
  suspended: 0,
  features: '["vouchers"]',
  secure_transport: 'optional',
  allowed_origins: '["*"]',
} as const satisfies BotCallerRow
const needsLink = { scope: 'messages:send', linked: true } as const

describe('authorization of a call with a bot token', () => {
  it('bot call is allowed with its scope, and with its application if the endpoint needs one', () => {
    expect(refuseBotCall(unlinked, { scope: 'messages:send' })).toBeNull()
    expect(refuseBotCall({ ...unlinked, scopes: '[]' }, {})).toBeNull()
    expect(refuseBotCall(linked, needsLink)).toBeNull()
  })

  it('bot call is refused for token, bot, application, scope and link, in this order', { tags: 'bot-issue/1' }, () => {
    const code = (row: BotCallerRow | undefined) => refuseBotCall(row, needsLink)?.code
    const withoutScope = { scopes: '["messages:send:all"]' }
    const disabled = { ...withoutScope, status: 'disabled' } as const
    expect(code(undefined)).toBe('TOKEN_INVALID')
    expect(code({ ...linked, ...disabled, bot_status: 'disabled', revoked_at: 0 })).toBe('TOKEN_REVOKED')
    expect(code({ ...linked, ...disabled, bot_status: 'disabled' })).toBe('BOT_DISABLED')
    expect(code({ ...linked, ...disabled })).toBe('APPLICATION_DISABLED')
    expect(refuseBotCall({ ...unlinked, ...withoutScope }, needsLink)).toEqual({
      ok: false,
      code: 'INSUFFICIENT_SCOPE',
      details: { required_scope: 'messages:send' },
    })
    expect(code(unlinked)).toBe('BOT_NOT_LINKED')
  })

  it('bot call to an endpoint that needs no application ignores the state of the linked one', () => {
    expect(refuseBotCall({ ...linked, status: 'disabled' }, { scope: 'messages:send' })).toBeNull()
  })

  it('bot call passes the origin of its session to the policy', { tags: 'session-origins/1' }, () => {
    const policy = { ...linked, secure_transport: 'required', allowed_origins: '["https://a.example"]' } as const
    expect(refuseBotCall(policy, needsLink)?.code).toBe('SECURE_TRANSPORT_REQUIRED')
    expect(refuseBotCall(policy, needsLink, 'https://b.example')?.code).toBe('ORIGIN_NOT_ALLOWED')
    expect(refuseBotCall(policy, needsLink, 'https://a.example')).toBeNull()
  })
})
