import { beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import type { VoucherEvent, VoucherHistory } from '../../../src/contract/platform/voucher-history.js'
import type { RedemptionRow } from '../../../src/domain/voucher.js'
import { inserting, interleave } from '../../../src/store/operation.js'
import { DAY_MS, START_MS, sharedApp, type TestApp, testApp } from '../../support/server/app.js'
import { newChat, pollOf } from '../../support/server/chats.js'
import { callerOf } from '../../support/server/client.js'
import { codeOf, newTenant, type Tenant, templateBody } from '../../support/server/tenant.js'
import { failedDelivery, HOOK_URL } from '../../support/server/webhooks.js'
import { redemptionRow } from '../../support/store/rows.js'

const server = sharedApp()
let tenant: Tenant
let templateId: string
beforeAll(async () => {
  tenant = await newTenant(server)
  templateId = (await tenant.template()).id
})

const { platform, vouchers } = contract
const historyOf = async (voucherId: string, on: TestApp = server): Promise<VoucherHistory> =>
  (await callerOf(on.send, on.operatorKey)(platform.voucher, { voucherId })).data
const typesOf = ({ events }: Pick<VoucherHistory, 'events'>) => events.map((it) => it.type)
const eventOf = ({ events }: VoucherHistory, type: VoucherEvent['type']) =>
  events.find((it) => it.type === type) as VoucherEvent
const reverse = async (redemptionId: string, key?: string) =>
  tenant.runtime(vouchers.reverse, { redemptionId, reason: 'wrong till' }, key === undefined ? {} : { key })

describe('voucher history', () => {
  it('voucher history and list hide codes in texts of the application', { tags: 'shown-credentials/1' }, async () => {
    const voucher = await tenant.issue(templateId)
    const credential = codeOf(voucher)
    const code = credential.value
    const [typed, pairs] = [
      code.replaceAll('-', ' ').toLowerCase(),
      (code.replaceAll('-', '').match(/../g) ?? []).join(' '),
    ]
    const { data: redemption } = await tenant.runtime(
      vouchers.redeem,
      { credential, reference: `till:${code.replaceAll('-', '')}` },
      { key: `redeem-${code}-1` },
    )
    expect(redemption.reference).toContain(code.replaceAll('-', ''))
    const reversal = { redemptionId: redemption.id, reason: `typed ${typed} and ${pairs}` }
    await tenant.runtime(vouchers.reverse, reversal, { key: code.toLowerCase() })
    const again = { template_id: templateId, external_issue_id: `again-${code}`, recipient_user_id: code }
    const { data: other } = await tenant.runtime(vouchers.issue, again, { key: code })
    const shown = [await historyOf(voucher.id), await historyOf(other.id)]
    const found = await tenant.operator(platform.vouchers, {})
    const symbols = JSON.stringify([shown, found.data])
      .replace(/[^0-9a-z]/gi, '')
      .toUpperCase()
    expect(symbols).not.toContain(code.replaceAll('-', ''))
    expect(eventOf(shown[0] as VoucherHistory, 'redeemed')).toMatchObject({
      idempotency_key: 'redeem-[hidden]-1',
      reference: 'till:[hidden]',
    })
    expect(eventOf(shown[0] as VoucherHistory, 'reversed')).toMatchObject({
      idempotency_key: '[hidden]',
      reason: 'typed [hidden] and [hidden]',
    })
  })

  it('voucher history has every event with request, idempotency key and token, oldest first', async () => {
    const till = await tenant.newToken()
    const voucher = await tenant.issue(templateId, { key: 'life-issue' })
    server.clock.advance(1_000)
    await till.call(vouchers.verify, { credential: codeOf(voucher) })
    server.clock.advance(1_000)
    const credential = codeOf(voucher)
    const redeem = () => till.call(vouchers.redeem, { credential, reference: 'order-7' }, { key: 'life-redeem' })
    const redeemed = await redeem()
    server.clock.advance(1_000)
    const replayed = await redeem()
    server.clock.advance(1_000)
    const redemptionId = redeemed.data.id
    await reverse(redemptionId, 'life-reverse')
    server.clock.advance(1_000)
    await tenant.redeem(voucher)
    const { events, ...rest } = await historyOf(voucher.id)
    const none = { bot_id: null, redemption_id: null, reference: null, reason: null, message: null, updates: [] }
    const nothing = { ...none, by_operator: false }
    const byTill = { ...nothing, token_id: till.id, token_name: 'extra', token_prefix: till.token.slice(0, 8) }
    const byTenant = {
      ...nothing,
      token_id: tenant.tokenId,
      token_name: 'till',
      token_prefix: tenant.token.slice(0, 8),
    }
    const at = (seconds: number) => new Date(Date.parse(voucher.issuedAt) + seconds * 1_000).toISOString()
    const { requestId } = redeemed.envelope
    const request = { request_id: expect.stringMatching(/^req_/) }
    expect(events).toEqual([
      {
        ...byTenant,
        ...request,
        type: 'issued',
        at: at(0),
        stored: true,
        endpoint: 'vouchers.issue',
        idempotency_key: 'life-issue',
      },
      {
        ...byTill,
        ...request,
        type: 'verified',
        at: at(1),
        stored: false,
        endpoint: 'vouchers.verify',
        idempotency_key: null,
      },
      {
        ...byTill,
        type: 'redeemed',
        at: at(2),
        stored: true,
        endpoint: 'vouchers.redeem',
        request_id: requestId,
        idempotency_key: 'life-redeem',
        redemption_id: redemptionId,
        reference: 'order-7',
      },
      {
        ...byTill,
        type: 'replayed',
        at: at(3),
        stored: false,
        endpoint: 'vouchers.redeem',
        request_id: replayed.envelope.requestId,
        idempotency_key: 'life-redeem',
      },
      {
        ...byTenant,
        ...request,
        type: 'reversed',
        at: at(4),
        stored: true,
        endpoint: 'vouchers.reverse',
        idempotency_key: 'life-reverse',
        redemption_id: redemptionId,
        reason: 'wrong till',
      },
      expect.objectContaining({ type: 'redeemed', at: at(5), idempotency_key: expect.stringMatching(/^key-/) }),
    ])
    const started = new Date(START_MS).toISOString()
    expect(rest).toEqual({
      voucher: (await tenant.runtime(vouchers.verify, { credential })).data.voucher,
      older_redemptions: false,
      now: new Date(server.clock.now()).toISOString(),
      log_since: started,
      server_started_at: started,
    })
  })

  it('verified event says why the voucher could not be redeemed', async () => {
    const voucher = await tenant.issue(templateId)
    const credential = codeOf(voucher)
    await tenant.runtime(vouchers.verify, { credential, recipient_user_id: 'somebody' })
    expect(eventOf(await historyOf(voucher.id), 'verified').reason).toBe('recipient_mismatch')
  })

  it('replayed event belongs to an issue that is repeated under its external id', async () => {
    const voucher = await tenant.issue(templateId)
    const { externalIssueId, recipientUserId } = voucher
    const ids = { external_issue_id: externalIssueId, recipient_user_id: recipientUserId }
    await tenant.runtime(vouchers.issue, { template_id: templateId, ...ids }, { key: 'another' })
    const replayed = eventOf(await historyOf(voucher.id), 'replayed')
    expect(replayed).toMatchObject({ endpoint: 'vouchers.issue', idempotency_key: 'another' })
  })

  it('stored events survive a restart, verifications and replays do not', { tags: 'voucher-history/2' }, async () => {
    const voucher = await tenant.issue(templateId)
    await tenant.runtime(vouchers.verify, { credential: codeOf(voucher) })
    const redemption = await tenant.redeem(voucher)
    await reverse(redemption.id)
    const before = await historyOf(voucher.id)
    expect(typesOf(before).sort()).toEqual(['issued', 'redeemed', 'reversed', 'verified'])
    const restarted = testApp({ store: server.deps.store })
    const after = await historyOf(voucher.id, restarted)
    expect(after.events).toEqual(before.events.filter((it) => it.stored))
    await restarted.close()
  })

  it('history has the newest redemptions only, and says so', { tags: 'voucher-history/2' }, async () => {
    const voucher = await tenant.issue(templateId)
    const call = { reverse_request_id: 'req_1', reverse_idempotency_key: 'key', reversed_by: 'tok_1' }
    const rows = Array.from({ length: 101 }, (_, at) =>
      redemptionRow({
        ...call,
        application_id: tenant.appId,
        id: `rdm_${at}`,
        voucher_id: voucher.id,
        redeemed_at: at,
        reversed_at: at,
      }),
    )
    const insert = inserting<RedemptionRow>('redemptions')
    await server.deps.store.write(() => interleave(...rows.map(insert)))
    const shown = await historyOf(voucher.id)
    expect(shown.older_redemptions).toBe(true)
    const redeemed = shown.events.filter((it) => it.type === 'redeemed').map((it) => it.redemption_id)
    expect(redeemed).toEqual(rows.slice(1).map((it) => it.id))
  })

  it('history contains no code and no token', { tags: 'voucher-history/1' }, async () => {
    const bot = await tenant.linkedBot()
    const chat = await newChat(tenant, bot)
    const issued = await bot.call(contract.bots.issue, {
      chat_id: chat.id,
      template_id: templateId,
      external_issue_id: 'secret-check',
    })
    await tenant.redeem(issued.data)
    const response = await tenant.operator(platform.voucher, { voucherId: issued.data.id })
    const secrets = [...issued.data.credentials.map((it) => it.value), tenant.token, bot.token]
    for (const secret of secrets) expect(response.text).not.toContain(secret)
  })
})

describe('expired event', () => {
  const shortLived = async () =>
    tenant.issue((await tenant.template({ validity: { type: 'relative', duration_days: 1 } })).id)

  it('event `expired` of a voucher has the time when its validity ends', { tags: 'voucher-history/2' }, async () => {
    const voucher = await shortLived()
    expect(typesOf(await historyOf(voucher.id))).toEqual(['issued'])
    server.clock.advance(DAY_MS)
    expect((await historyOf(voucher.id)).events.at(-1)).toMatchObject({ type: 'expired', at: voucher.validUntil })
    server.clock.advance(1)
    await tenant.runtime(vouchers.verify, { credential: codeOf(voucher) })
    expect(typesOf(await historyOf(voucher.id))).toEqual(['issued', 'expired', 'verified'])
  })

  it('expired event has the time of a reversal after the validity', { tags: 'voucher-history/2' }, async () => {
    const voucher = await shortLived()
    const redemption = await tenant.redeem(voucher)
    server.clock.advance(2 * DAY_MS)
    expect(typesOf(await historyOf(voucher.id))).toEqual(['issued', 'redeemed'])
    await reverse(redemption.id)
    const { events } = await historyOf(voucher.id)
    expect(events.map((it) => it.type)).toEqual(['issued', 'redeemed', 'reversed', 'expired'])
    expect(events.at(-1)?.at).toBe(events.at(-2)?.at)
  })
})

describe('updates of an event', () => {
  it('event has its updates with deliveries and their attempts', { tags: 'voucher-history/2' }, async () => {
    const owner = await newTenant(server)
    const bot = await owner.linkedBot()
    const subscribed = { botId: bot.id, url: HOOK_URL, allowed_updates: ['voucher_redeemed' as const] }
    await owner.console(contract.webhook.set, subscribed)
    const voucher = await owner.issue()
    const redemption = await owner.redeem(voucher)
    const [delivery] = (await owner.console(contract.webhook.deliveries, { botId: bot.id })).data.items
    const shown = await historyOf(voucher.id)
    expect(eventOf(shown, 'issued').updates).toEqual([])
    expect(eventOf(shown, 'redeemed')).toMatchObject({ redemption_id: redemption.id })
    expect(eventOf(shown, 'redeemed').updates).toEqual([
      { bot_id: bot.id, update_id: 1, type: 'voucher_redeemed', pending: true, delivery },
    ])
  })

  it('event of a polling bot has an update without a delivery, pending until it is confirmed', async () => {
    const owner = await newTenant(server)
    const bot = await owner.linkedBot()
    await pollOf(bot, { allowed_updates: ['voucher_issued'] })
    const voucher = await owner.issue()
    const updates = async () => eventOf(await historyOf(voucher.id), 'issued').updates
    const update = { bot_id: bot.id, update_id: 1, type: 'voucher_issued', delivery: null }
    expect(await updates()).toEqual([{ ...update, pending: true }])
    await pollOf(bot, { offset: 2 })
    expect(await updates()).toEqual([{ ...update, pending: false }])
  })

  it('update of another request belongs to no voucher', async () => {
    const owner = await newTenant(server)
    const bot = await owner.linkedBot()
    await failedDelivery(owner, bot, server.deps.store)
    const voucher = await owner.issue()
    expect(eventOf(await historyOf(voucher.id), 'issued').updates).toEqual([])
  })

  it('issue by a bot has the bot, the prefix of its token and the message', async () => {
    const bot = await tenant.linkedBot()
    const chat = await newChat(tenant, bot)
    const input = { chat_id: chat.id, template_id: templateId, external_issue_id: 'by-bot' }
    const issued = await bot.call(contract.bots.issue, input, { key: 'by-bot-key' })
    await tenant.console(contract.bots.regenerateToken, { botId: bot.id })
    const shown = await historyOf(issued.data.id)
    expect(eventOf(shown, 'issued')).toMatchObject({
      endpoint: 'bots.issue',
      bot_id: bot.id,
      token_id: null,
      token_name: null,
      token_prefix: bot.token.slice(0, 8),
      idempotency_key: 'by-bot-key',
      message: { chat_id: chat.id, message_id: 1 },
    })
  })
})

describe('search for vouchers', () => {
  it('voucher of any application is found by redeem code and QR token', async () => {
    const voucher = await (await newTenant(server)).issue()
    for (const type of ['redeem_code', 'qr_token'] as const) {
      const found = await tenant.operator(platform.findVoucher, { credential: codeOf(voucher, type) })
      expect(found.data).toEqual(await historyOf(voucher.id))
    }
  })

  it('credential with a wrong check symbol is not found, and the refusal says why', async () => {
    const { type, value } = codeOf(await tenant.issue(templateId))
    const wrong = value.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    const refused = await tenant.operator(platform.findVoucher, { credential: { type, value: wrong } })
    expect([refused.status, refused.code, refused.details]).toEqual([
      404,
      'VOUCHER_NOT_FOUND',
      { credential_check: 'failed' },
    ])
  })

  it('list has vouchers of all applications, newest first, in pages', { tags: 'voucher-history/1' }, async () => {
    const own = testApp()
    const operator = callerOf(own.send, own.operatorKey)
    const made: string[] = []
    for (const owner of [await newTenant(own), await newTenant(own)]) {
      own.clock.advance(1_000)
      made.unshift((await owner.issue()).id)
    }
    const page = async (number: number) => (await operator(platform.vouchers, { page: number, limit: 1 })).data
    const [first, second, third] = [await page(1), await page(2), await page(3)]
    expect([first, second, third].map((it) => it.items.map(({ id }) => id))).toEqual([[made[0]], [made[1]], []])
    expect(first.pagination).toEqual({ page: 1, limit: 1, total: 2, pages: 2 })
    expect(first.items[0]).toEqual((await historyOf(String(made[0]), own)).voucher)
    await own.close()
  })

  it('list filters by template, recipient, external id, status and time of issue, and sorts', async () => {
    const own = testApp()
    const owner = await newTenant(own)
    const operator = callerOf(own.send, own.operatorKey)
    const short = await owner.template({ validity: { type: 'relative', duration_days: 1 } })
    const issue = async (template_id: string, external_issue_id: string, recipient_user_id: string) =>
      (await owner.runtime(vouchers.issue, { template_id, external_issue_id, recipient_user_id })).data
    const expired = await issue(short.id, 'order-1', 'ann')
    own.clock.advance(DAY_MS)
    const since = new Date(own.clock.now()).toISOString()
    const open = await issue(short.id, 'order-2', 'ann')
    const redeemed = await issue((await owner.template(templateBody())).id, 'order-1', 'bob')
    await owner.redeem(redeemed)
    const found = async (filter: object) =>
      (await operator(platform.vouchers, filter)).data.items.map((it) => it.id).sort()
    const ids = (...them: { id: string }[]) => them.map((it) => it.id).sort()
    expect(await found({})).toEqual(ids(expired, open, redeemed))
    expect(await found({ template_id: short.id })).toEqual(ids(expired, open))
    expect(await found({ template_id: 'tpl_unknown' })).toEqual([])
    expect(await found({ recipient_user_id: 'bob' })).toEqual(ids(redeemed))
    expect(await found({ external_issue_id: 'order-1' })).toEqual(ids(expired, redeemed))
    expect(await found({ external_issue_id: 'order-1', recipient_user_id: 'ann' })).toEqual(ids(expired))
    expect(await found({ status: 'expired' })).toEqual(ids(expired))
    expect(await found({ status: 'issued' })).toEqual(ids(open))
    expect(await found({ status: 'redeemed' })).toEqual(ids(redeemed))
    expect(await found({ since })).toEqual(ids(open, redeemed))
    expect(await found({ since: since.replace('Z', '+00:00'), template_id: short.id })).toEqual(ids(open))
    expect((await operator(platform.vouchers, { since: '2027-02-30T00:00:00Z' })).code).toBe('VALIDATION_FAILED')
    const sorted = async (filter: object) => (await operator(platform.vouchers, filter)).data.items.map((it) => it.id)
    expect(await sorted({ sort: 'issued_at' })).toEqual(
      [expired, open, redeemed].sort((a, b) => (a.issuedAt + a.id < b.issuedAt + b.id ? -1 : 1)).map((it) => it.id),
    )
    expect((await sorted({ sort: '-recipient_user_id' }))[0]).toBe(redeemed.id)
    expect(await sorted({ sort: '-external_issue_id', template_id: short.id })).toEqual([open.id, expired.id])
    expect(await sorted({ sort: 'recipient_user_id', external_issue_id: 'order-1' })).toEqual([expired.id, redeemed.id])
    expect(await sorted({ sort: 'recipient_user_id', since, status: 'issued' })).toEqual([open.id])
    const bySecret = { sort: 'redeem_code_hash' } as never
    expect((await operator(platform.vouchers, bySecret)).code).toBe('VALIDATION_FAILED')
    await own.close()
  })
})
