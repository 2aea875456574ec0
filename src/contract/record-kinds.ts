import type { FailureCode } from './errors.js'

interface Kind {
  /** What ids of the kind begin with, before `_` (rules/calls.md#ids). */
  readonly prefix: string
  readonly noun: string
  /** Members of calls that hold an id of the kind. */
  readonly members: readonly string[]
  /** Code that reports such an id as unknown. */
  readonly notFound?: FailureCode
}

/** Kinds of records. Bots come before templates, because a template may belong to one. */
export const recordKinds = {
  bots: { prefix: 'bot', noun: 'a bot', members: ['botId', 'bot_id'], notFound: 'BOT_NOT_FOUND' },
  apps: {
    prefix: 'app',
    noun: 'an application',
    members: ['appId', 'application_id'],
    notFound: 'APPLICATION_NOT_FOUND',
  },
  tokens: { prefix: 'tok', noun: 'an application token', members: ['tokenId'], notFound: 'TOKEN_NOT_FOUND' },
  templates: {
    prefix: 'tpl',
    noun: 'a template',
    members: ['templateId', 'template_id'],
    notFound: 'TEMPLATE_NOT_FOUND',
  },
  vouchers: {
    prefix: 'vch',
    noun: 'a voucher',
    members: ['voucherId', 'voucher_id'],
    notFound: 'VOUCHER_NOT_FOUND',
  },
  redemptions: { prefix: 'rdm', noun: 'a redemption', members: ['redemptionId'], notFound: 'REDEMPTION_NOT_FOUND' },
  deliveries: { prefix: 'dlv', noun: 'a delivery', members: ['deliveryId'], notFound: 'DELIVERY_NOT_FOUND' },
  chats: { prefix: 'chat', noun: 'a chat', members: ['chatId', 'chat_id'], notFound: 'CHAT_NOT_FOUND' },
  faults: { prefix: 'flt', noun: 'a fault', members: ['faultId'], notFound: 'FAULT_NOT_FOUND' },
  requests: { prefix: 'req', noun: 'a request', members: ['request_id'] },
} as const satisfies Record<string, Kind>
export type RecordKind = keyof typeof recordKinds

const kinds = Object.entries<Kind>(recordKinds) as [RecordKind, Kind][]

/** Finds the kind that a text has the form of an id of. */
export const kindOfId = (text: string) => kinds.find(([, { prefix }]) => text.startsWith(`${prefix}_`))?.[1]

/** Finds the kind whose ids a member of a call holds. */
export const kindOfMember = (member: string) => kinds.find(([, { members }]) => members.includes(member))?.[0]

/** Finds the kind that a failure code reports as not found. */
export const kindNotFound = (code: string) => kinds.find(([, { notFound }]) => notFound === code)?.[1]
