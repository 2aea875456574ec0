import { beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import type { FoundRecord } from '../../../src/contract/platform/acting.js'
import type { IssuedVoucher } from '../../../src/contract/vouchers.js'
import { sharedApp } from '../../support/server/app.js'
import { newChat } from '../../support/server/chats.js'
import { unknownCredential } from '../../support/server/scene.js'
import { codeOf, newTenant, type Tenant, type TestBot, templateBody } from '../../support/server/tenant.js'
import { newDelivery } from '../../support/server/webhooks.js'

const { platform } = contract
const server = sharedApp()

let tenant: Tenant
let voucher: IssuedVoucher
let bot: TestBot
let found: FoundRecord
beforeAll(async () => {
  tenant = await newTenant(server)
  const template = await tenant.template({ name: 'Zebra ride', external_template_id: 'zebra-ride' })
  voucher = await tenant.issue(template.id)
  bot = await tenant.itsBot()
  found = { kind: 'voucher', id: voucher.id, name: 'Zebra ride', detail: 'user-1' }
})

const find = async (text: string): Promise<FoundRecord[]> => (await tenant.operator(platform.find, { text })).data.items
const idsOf = async (text: string) => (await find(text)).map((it) => [it.kind, it.id])

describe('records that the operator finds', () => {
  it('voucher is found by its code in any spelling, its QR token, id, own id and redemption', async () => {
    const code = codeOf(voucher).value
    const spellings = [code, code.replaceAll('-', ' ').toLowerCase(), ` ${code} `, codeOf(voucher, 'qr_token').value]
    for (const text of spellings) expect(await find(text)).toEqual([found])
    const redemption = await tenant.redeem(voucher)
    for (const text of [voucher.id, voucher.externalIssueId, redemption.id]) expect(await find(text)).toEqual([found])
    expect(await find(unknownCredential().value)).toEqual([])
  })

  it('vouchers and chats are found by their user', async () => {
    const chat = await newChat(tenant, bot, { user_id: 'found-user' })
    const other = await tenant.runtime(contract.vouchers.issue, {
      template_id: voucher.templateId,
      external_issue_id: 'of-found-user',
      recipient_user_id: 'found-user',
    })
    expect(await idsOf('found-user')).toEqual([
      ['chat', chat.id],
      ['voucher', other.data.id],
    ])
    expect((await find(chat.id))[0]).toEqual({ kind: 'chat', id: chat.id, name: 'Coffee bot', detail: 'found-user' })
  })

  it('templates, applications and bots are found by id, own id, token id and the start of a name', async () => {
    const template = { kind: 'template', id: voucher.templateId, name: 'Zebra ride', detail: 'zebra-ride' }
    for (const text of [voucher.templateId, 'zebra-ride', 'ZEBRA R']) expect(await find(text)).toEqual([template])
    const application = { kind: 'application', id: tenant.appId, name: 'Shop', detail: tenant.accountId }
    for (const text of [tenant.appId, tenant.tokenId]) expect(await find(text)).toEqual([application])
    expect(await find('sho')).toContainEqual(application)
    const [listed] = (await tenant.operator(platform.bots, {})).data.items
    const username = String(listed?.username)
    const shown = { kind: 'bot', id: bot.id, name: 'Coffee bot', detail: username }
    for (const text of [bot.id, username]) expect(await find(text)).toEqual([shown])
    for (const text of ['coffee b', username.slice(0, -1)]) expect(await find(text)).toContainEqual(shown)
  })

  it('deliveries are found by id and by update id', async () => {
    const { id, update_id } = await newDelivery(tenant, bot)
    const delivery = { kind: 'delivery', id, name: 'ping', detail: 'Coffee bot' }
    expect(await find(id)).toEqual([delivery])
    expect(await find(String(update_id))).toContainEqual(delivery)
  })

  it('records of every application are found, at most 20 and each once', { tags: 'operator-api/3' }, async () => {
    const other = await newTenant(server)
    const { id } = await other.issue()
    expect(await idsOf(id)).toEqual([['voucher', id]])
    for (let made = 0; made < 25; made++) await other.draft({ name: `Giraffe ${made}` })
    expect(await find('giraffe')).toHaveLength(20)
    const same = await other.draft({ name: 'Okapi', external_template_id: 'okapi' })
    expect(await idsOf('okapi')).toEqual([['template', same.id]])
  })

  it('template of a bot without an application is found by its own id', async () => {
    const alone = await tenant.bot()
    const body = templateBody({ external_template_id: 'of-a-bot' })
    const made = await tenant.console(contract.bots.createTemplate, { botId: alone.id, ...body })
    expect(await idsOf('of-a-bot')).toEqual([['template', made.data.id]])
  })

  it('codes that an application wrote into names are hidden', async () => {
    const { value } = codeOf(voucher)
    const { id } = await tenant.draft({ name: `Code ${value}` })
    expect(await find(id)).toMatchObject([{ id, name: 'Code [hidden]' }])
  })

  it.each([' ', '%', "' or 1=1 --", '_', '00', '\u0000'])('text %j finds nothing', async (text) => {
    expect(await find(text)).toEqual([])
  })

  it('search is in no activity, and its log entry lacks the text', async () => {
    const headers = { authorization: `Bearer ${server.operatorKey}` }
    await find(codeOf(voucher).value)
    const { text } = await server.send({ method: 'GET', path: platform.activity.path, headers })
    expect(text).not.toContain('platform.find')
    const log = await server.send({ method: 'GET', path: platform.requests.path, headers })
    expect(log.text).toContain('platform.find')
    expect(log.text).not.toContain(codeOf(voucher).value)
  })

  it.each([{}, { text: '' }, { text: 'x'.repeat(257) }, { text: 1 }])('search for %j is refused', async (input) => {
    expect((await tenant.operator(platform.find, input as never)).code).toBe('VALIDATION_FAILED')
  })
})
