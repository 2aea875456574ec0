import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { sharedApp } from '../../support/server/app.js'
import { newTenant } from '../../support/server/tenant.js'

const server = sharedApp()

const { bots, platform } = contract

const everything = {
  name: 'Tea bot',
  avatar: 'https://shop.example/tea.png',
  description: 'Pours tea.',
  short_description: 'Tea',
  about: 'All about tea.',
  cover_url: 'https://shop.example/cover.png',
  links: [{ title: 'Shop', url: 'https://shop.example/' }],
  contact: { email: 'tea@shop.example', phone: '+49 30 1', url: 'https://shop.example/contact' },
  supports_inline_queries: true,
  friend_request_mode: 'auto_accept' as const,
  group_privacy: false,
  command_menus: [
    { command: '/start', description: 'Start' },
    { command: 'help', description: 'Help' },
  ],
}
const { name, command_menus, ...profile } = everything

describe('PATCH of a bot', () => {
  it('PATCH of a bot clears and replaces profile and menus as a whole', { tags: 'bot-records/2' }, async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.approvedBot()
    expect((await tenant.console(bots.update, { botId, ...everything })).data).toMatchObject({ command_menus })
    const nothing = { avatar: null, description: null, short_description: null, about: null, cover_url: null }
    const cleared = await tenant.console(bots.update, { botId, ...nothing, links: [], command_menus: [] })
    expect(cleared.data).toMatchObject({ command_menus: [], profile: { ...profile, ...nothing, links: [] } })
    const contact = { email: 'other@shop.example' }
    expect((await tenant.console(bots.update, { botId, contact })).data.profile.contact).toEqual(contact)
    expect((await tenant.console(bots.update, { botId, contact: {} })).data.profile.contact).toEqual({})
  })

  it('PATCH requires an approved bot, enabled or disabled', { tags: ['bot-records/1', 'bot-states/3'] }, async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.appliedBot()
    const update = () => tenant.console(bots.update, { botId, name })
    expect(await update()).toMatchObject({
      status: 409,
      code: 'BOT_NOT_APPROVED',
      details: { review_status: 'pending' },
    })
    await tenant.operator(platform.rejectBot, { botId, note: 'no' })
    expect(await update()).toMatchObject({ code: 'BOT_NOT_APPROVED', details: { review_status: 'rejected' } })
    const { id: disabled } = await tenant.approvedBot()
    await tenant.operator(platform.disableBot, { botId: disabled })
    expect((await tenant.console(bots.update, { botId: disabled, name })).status).toBe(200)
  })

  it('PATCH refuses a username before it looks for the bot', { tags: ['bot-records/1', 'bot-records/4'] }, async () => {
    const tenant = await newTenant(server)
    const { id: botId, username } = await tenant.appliedBot()
    for (const id of [botId, 'bot_0']) {
      expect(await tenant.console(bots.update, { botId: id, username } as never)).toMatchObject({
        status: 400,
        code: 'VALIDATION_FAILED',
        details: { errors: [{ pointer: '/username', code: 'additionalProperties' }] },
      })
    }
  })

  it.each([
    ['an empty name', { name: '' }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['an avatar without https', { avatar: 'http://shop.example/a.png' }],
    ['a null name', { name: null }],
    ['a description of 513 characters', { description: 'x'.repeat(513) }],
    ['a short description of 121 characters', { short_description: 'x'.repeat(121) }],
    ['an about text of 1001 characters', { about: 'x'.repeat(1001) }],
    ['eleven links', { links: Array(11).fill(everything.links[0]) }],
    ['a link without a title', { links: [{ url: 'https://shop.example/' }] }],
    ['a link that runs a script', { links: [{ title: 'x', url: 'javascript:alert(1)' }] }],
    ['a link with a malformed URL', { links: [{ title: 'x', url: 'https://:' }] }],
    ['a link with an unknown member', { links: [{ ...everything.links[0], target: 'x' }] }],
    ['an unknown contact', { contact: { fax: '1' } }],
    ['a malformed contact URL', { contact: { url: 'https://?' } }],
    ['a flag given as text', { supports_inline_queries: 'true' }],
    ['an unknown mode', { friend_request_mode: 'maybe' }],
    ['a command with a capital letter', { command_menus: [{ command: 'Start', description: 'x' }] }],
    ['a command without a description', { command_menus: [{ command: 'start' }] }],
    ['101 commands', { command_menus: Array(101).fill(everything.command_menus[0]) }],
    ['a read-only member', { status: 'active' }],
    ['the member profile', { profile: {} }],
    ['the member scopes', { scopes: ['vouchers:issue'] }],
  ])('PATCH of a bot with %s is refused with 400', { tags: ['bot-records/1', 'bot-records/3'] }, async (_, patch) => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.approvedBot()
    expect((await tenant.console(bots.update, { botId, ...patch } as never)).code).toBe('VALIDATION_FAILED')
  })

  it('concurrent PATCHes of different members of a bot all take effect', async () => {
    const tenant = await newTenant(server)
    const { id: botId } = await tenant.approvedBot()
    await Promise.all(
      Object.entries(everything).map(([member, value]) => tenant.console(bots.update, { botId, [member]: value })),
    )
    expect((await tenant.console(bots.get, { botId })).data).toMatchObject({ name, command_menus, profile })
  })
})
