import type { Endpoint, OutputOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import { dataExample } from '../../../src/contract/openapi/examples.js'
import { templateBody } from '../../../src/contract/openapi/template-body.js'
import { redeemCode } from './cli.js'

const { apps, tokens, templates, vouchers, bots, webhook, platform } = contract

/** Returns the example of a response with short ids such as app_01 and order-1. */
const dataOf = <E extends Endpoint>(endpoint: E) =>
  JSON.parse(
    JSON.stringify(dataExample(endpoint)).replaceAll(/(?<=_01)JDKQ4Z8N6W2T5Y9RB3CV7HX.|(?<=order-1)001/g, ''),
  ) as OutputOf<E>

export const token = dataOf(tokens.revoke)
export const verification = dataOf(vouchers.verify)
export const voucher = verification.voucher
export const bot = dataOf(platform.approveBot)
export const botDetail = dataOf(bots.get)
export const botMetrics = dataOf(bots.metrics)
export const chat = dataOf(platform.createChat)
export const app = { ...dataOf(apps.get), description: null, linkedBots: [] }
export const template = {
  ...dataOf(templates.create),
  ...{ externalTemplateId: 'coffee', issueLimit: 10, issuedCount: 3 },
  ...{ status: 'draft', submittedAt: null, reviewedAt: null },
}
export const redemption = { ...dataOf(vouchers.redeem), recipientUserId: 'user-1', redeemedAt: voucher.issuedAt }
export const message = { ...dataOf(bots.send), text: 'Hello' }
export const update = { ...dataOf(platform.addUpdate), update_id: 7, message }
export const delivery = { ...dataOf(webhook.retry), update_id: 7 }
const known = { request_id: 'req_01', idempotency_key: 'order-1', token_prefix: 'sop_CANA' }
const history = dataOf(platform.voucher)
export const voucherHistory = {
  ...history,
  events: history.events.map((it) => ({ ...it, ...known })),
  now: voucher.issuedAt,
}
const { schedule, ...storedDelivery } = dataOf(platform.delivery)
export const deliveryDetail = {
  ...storedDelivery,
  schedule: [...schedule, { attempt: 2, at: voucher.issuedAt, state: 'due' }],
}
export const deliveryReplay = dataOf(platform.replayDelivery)

/** A template file that contains `template`. */
export const templateFile = `templates:
  - external_template_id: coffee
    name: ${templateBody.name}
    type: gift
    issuer_name: ${templateBody.issuer_name}
    fulfiller_name: ${templateBody.fulfiller_name}
    fulfillment_category: ${templateBody.fulfillment_category}
    acquisition_source: free_claim
    validity: { type: relative, duration_days: 30 }
    issue_limit: 10
`

export const qrToken = 'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ'

export const issuedVoucher = {
  ...voucher,
  credentials: [
    { type: 'redeem_code', value: redeemCode },
    { type: 'qr_token', value: qrToken },
  ],
}

export const pageOf = (...items: readonly unknown[]) => ({
  items,
  pagination: { page: 1, limit: 20, total: items.length, pages: 1 },
})

export interface LeafCall {
  /** Arguments for a valid API request. */
  readonly args: string
  /** Text that the error must contain if the command runs without arguments and without a terminal. */
  readonly bare?: string
  readonly data: unknown
  readonly changes?: true
}

/** The endpoint that a command calls; `args` and `bare` of its LeafCall. */
type Row = readonly [endpoint: Endpoint, args?: string, bare?: string]

const reads: Readonly<Record<string, Row>> = {
  'apps list': [apps.list],
  'apps get': [apps.get, 'app_01', 'APP_ID'],
  'tokens list': [tokens.list, '--app app_01', '--app'],
  'templates list': [templates.list],
  'vouchers verify': [vouchers.verify, `--code ${redeemCode}`, '--code'],
  'vouchers redemption': [vouchers.redemption, 'rdm_01', 'REDEMPTION_ID'],
  'bots list': [bots.list],
  'bots get': [bots.get, 'bot_01', 'BOT_ID'],
  'bots metrics': [bots.metrics, 'bot_01', 'BOT_ID'],
  'bots updates': [bots.updates],
  'webhook info': [webhook.info],
  'webhook deliveries': [webhook.deliveries, 'bot_01', 'BOT_ID'],
  'platform chats list': [platform.chats],
  'platform chats messages': [platform.messages, 'chat_01', 'CHAT_ID'],
  'platform apps list': [platform.applications],
  'platform bots list': [platform.bots],
  'platform find': [platform.find, 'user-42', 'TEXT'],
  'platform templates show': [platform.template, 'tpl_01', 'TEMPLATE_ID'],
  'platform templates list': [platform.templates],
  'platform totals': [platform.totals],
  'platform deliveries list': [platform.deliveries],
  'platform deliveries show': [platform.delivery, 'dlv_01', 'DELIVERY_ID'],
  'platform vouchers list': [platform.vouchers],
  'platform vouchers show': [platform.voucher, 'vch_01', 'ID|CODE'],
  'platform reviews': [platform.reviews],
  'server keys list': [platform.secureKeys],
  'platform clock show': [platform.getClock],
  'platform clock forecast': [platform.forecast, '--in 31d', '--until'],
  'platform faults list': [platform.faults],
  'platform snapshots list': [platform.snapshots],
  open: [platform.openPage, '--no-browser'],
}

const mutations: Readonly<Record<string, Row>> = {
  'apps create': [apps.create, '--name Shop', '--name'],
  'apps update': [apps.update, 'app_01 --status disabled', 'APP_ID'],
  'tokens create': [tokens.create, '--app app_01 --scope vouchers:read', '--scope'],
  'tokens revoke': [tokens.revoke, 'tok_01 --app app_01 --yes', 'TOKEN_ID'],
  'templates create': [
    templates.create,
    '--external-id coffee --name Coffee --type exchange --issuer-name A --fulfiller-name B --fulfillment-category offline_service --acquisition-source free_claim --valid-days 30 --issue-limit 5',
    '--external-id',
  ],
  'templates submit': [templates.submit, 'tpl_01', 'TEMPLATE_ID'],
  'vouchers issue': [vouchers.issue, '--template tpl_01 --external-id order-1 --recipient user-1', '--recipient'],
  'vouchers redeem': [vouchers.redeem, `--code ${redeemCode}`, '--code'],
  'vouchers reverse': [vouchers.reverse, 'rdm_01', 'ID|CODE'],
  'apps link-bot': [apps.linkBot, 'app_01 --bot bot_01', '--bot'],
  'apps unlink-bot': [apps.unlinkBot, 'app_01 --bot bot_01 --yes', 'APP_ID'],
  'bots apply': [bots.apply, '--name Coffee --username coffee_bot', '--username'],
  'bots update': [bots.update, 'bot_01 --name Coffee', 'BOT_ID'],
  'bots regenerate-token': [bots.regenerateToken, 'bot_01 --yes', 'BOT_ID'],
  'bots send': [bots.send, '--chat chat_01 --text Hello', '--text'],
  'webhook set': [webhook.set, 'bot_01 --url https://shop.example/hook', '--url'],
  'webhook delete': [webhook.delete, 'bot_01 --yes', 'BOT_ID'],
  'webhook retry': [webhook.retry, 'dlv_01 --bot bot_01', 'DELIVERY_ID'],
  'platform bots approve': [platform.approveBot, 'bot_01', 'BOT_ID'],
  'platform bots reject': [platform.rejectBot, 'bot_01 --note no', '--note'],
  'platform bots disable': [platform.disableBot, 'bot_01', 'BOT_ID'],
  'platform bots enable': [platform.enableBot, 'bot_01', 'BOT_ID'],
  'platform bots add-update': [platform.addUpdate, 'bot_01 --kind ping', '--kind'],
  'platform users start': [platform.createChat, '--bot bot_01 --user user-42', '--user'],
  'platform users send': [platform.sendAsUser, 'chat_01 --text Hi', '--text'],
  'platform users block': [platform.blockChat, 'chat_01', 'CHAT_ID'],
  'platform users unblock': [platform.unblockChat, 'chat_01', 'CHAT_ID'],
  'platform deliveries replay': [platform.replayDelivery, 'dlv_01 --resign', 'DELIVERY_ID'],
  'platform templates approve': [platform.approveTemplate, 'tpl_01', 'TEMPLATE_ID'],
  'platform templates reject': [platform.rejectTemplate, 'tpl_01 --code NO --reason no', '--reason'],
  'platform apps suspend': [platform.suspendApp, 'app_01', 'APP_ID'],
  'platform apps reinstate': [platform.reinstateApp, 'app_01', 'APP_ID'],
  'platform apps features': [platform.setAppFeatures, 'app_01 --feature vouchers', 'APP_ID'],
  'server keys rotate': [platform.rotateSecureKeys, '--yes'],
  'platform clock set': [platform.setClock, '2026-11-21T10:00:00.000Z', 'TIME'],
  'platform clock advance': [platform.advanceClock, '--in 60', '--in'],
  'platform faults add': [platform.addFault, '--endpoint vouchers.redeem --kind error', '--kind'],
  'platform faults remove': [platform.removeFault, 'flt_01', 'FAULT_ID'],
  'platform snapshots save': [platform.saveSnapshot, 'seeded --yes', 'NAME'],
  'platform snapshots restore': [platform.restoreSnapshot, 'seeded --yes', 'NAME'],
  'platform snapshots remove': [platform.removeSnapshot, 'seeded --yes', 'NAME'],
  'platform reset': [platform.reset, '--yes', '--yes'],
  'platform faults release': [platform.releaseCalls],
  'platform faults clear': [platform.clearFaults],
}

/** Response data of commands for which the example of the endpoint will not do. */
const dataOverrides: Readonly<Record<string, unknown>> = {
  'server keys rotate': {
    items: dataOf(platform.secureKeys).items.flatMap((it) => [
      it,
      { ...it, kid: 'PT2TePNwykronB8N', state: 'next', activated_at: null },
    ]),
  },
  // The QR code of the example has no valid checksum.
  'vouchers issue': issuedVoucher,
  // The receiver of the example refuses, with exit code 1.
  'platform deliveries replay': { ...deliveryReplay, status: 204, error: null, hints: [] },
}

/** Every command that sends exactly one API request, by its name. every-command.test.ts checks that none is missing. */
export const leafCalls: Readonly<Record<string, LeafCall>> = Object.fromEntries(
  Object.entries({ ...reads, ...mutations }).map(([name, [endpoint, args = '', bare]]): [string, LeafCall] => [
    name,
    {
      args,
      data: dataOverrides[name] ?? dataOf(endpoint),
      ...(bare === undefined ? {} : { bare }),
      ...(name in mutations ? { changes: true } : {}),
    },
  ]),
)
