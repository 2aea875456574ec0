import { contract } from '../../../contract/index.js'
import type { Template } from '../../../contract/templates.js'
import type { IssuedVoucher, Redemption, Verification } from '../../../contract/vouchers.js'
import { apply } from '../../bot-fixtures.js'
import {
  activeTemplate,
  credentialOf,
  issueInput,
  leftAfter,
  registered,
  shared,
  templateInput,
  tryIssue,
  voucher,
} from '../../fixtures.js'
import type { Observed, ProbeContext } from '../../probe-context.js'

const { apps, bots, templates, vouchers } = contract

/** A call with what it was sent with, for a probe that repeats it. */
interface Sent<Data> {
  readonly input: Readonly<Record<string, unknown>>
  readonly key: string
  readonly response: Observed<Data>
}

/** `shared` under a name that only the probes of this group use. */
export const keep = <R>(it: ProbeContext, name: string, call: () => Promise<R>) => shared(it, `vouchers: ${name}`, call)

/** Issue of a voucher that no probe redeems. */
export function issueCall(it: ProbeContext): Promise<Sent<IssuedVoucher>> {
  return keep(it, 'issue', async () => {
    const input = await issueInput(it)
    const key = it.resources.name()
    return { input, key, response: await it.call(vouchers.issue, input, { key }) }
  })
}

/** A voucher that no probe redeems. */
export const issued = async (it: ProbeContext) => it.needs((await issueCall(it)).response, 'an issued voucher')

/** Redemption of a voucher by its redeem code; no probe reverses it. */
export function redeemCall(it: ProbeContext): Promise<Sent<Redemption> & { readonly voucher: IssuedVoucher }> {
  return keep(it, 'redeem', async () => {
    const one = await voucher(it)
    const input = { credential: credentialOf(it, one) }
    const key = it.resources.name()
    return { voucher: one, input, key, response: await it.call(vouchers.redeem, input, { key }) }
  })
}

/** A redemption that no probe reverses. */
export const redeemed = async (it: ProbeContext) => it.needs((await redeemCall(it)).response, 'a redemption')

/** Issues and redeems a voucher. */
export async function newRedemption(it: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  const one = await voucher(it)
  const input = { credential: credentialOf(it, one), ...changes }
  const key = it.resources.name()
  const redemption = it.needs(await it.call(vouchers.redeem, input, { key }), 'a redemption')
  return { voucher: one, input, key, redemption }
}

/** Reversal of a redemption, whose voucher no probe redeems again. */
export function reversal(it: ProbeContext) {
  return keep(it, 'reversal', async () => {
    const { voucher: one, redemption } = await newRedemption(it)
    const key = it.resources.name()
    const response = await reverse(it, redemption.id, key)
    return { voucher: one, redemption, key, response }
  })
}

/** Reverses a redemption. The body is `{}`: that it may be absent is another statement. */
export const reverse = (it: ProbeContext, redemptionId: string, key: string | null = it.resources.name()) =>
  it.call(vouchers.reverse, { redemptionId }, { key, body: '{}' })

/** A template with an issue limit of 1, and its voucher. */
export function limited(it: ProbeContext) {
  return keep(it, 'limited template', async () => {
    const template_id = await activeTemplate(it, { issue_limit: 1 })
    return { template_id, voucher: await voucher(it, { template_id }) }
  })
}

/** Issue of a second voucher from that template, before any probe reverses a redemption of the first. */
export async function issueBeyondLimit(it: ProbeContext): Promise<Observed<IssuedVoucher>> {
  const { template_id } = await limited(it)
  return keep(it, 'issue beyond the limit', () => tryIssue(it, { template_id }))
}

/** A voucher that is valid from tomorrow. */
export function future(it: ProbeContext) {
  return keep(it, 'voucher of tomorrow', async () => {
    const validity = { type: 'relative', duration_days: 1, delay_days: 1 } as const
    const template_id = await activeTemplate(it, { validity })
    return { template_id, voucher: await voucher(it, { template_id }) }
  })
}

/** Its verification, before any probe tries to redeem it. */
export const futureVerified = async (it: ProbeContext) => {
  const { voucher: one } = await future(it)
  return keep(it, 'verification of the voucher of tomorrow', () => verify(it, one))
}

export function verify(it: ProbeContext, one: IssuedVoucher): Promise<Observed<Verification>> {
  return it.call(vouchers.verify, { credential: credentialOf(it, one) })
}

/** Ms after the start of a fixed validity at which it ends. */
const FIXED_MS = 2_000

/** Two vouchers whose fixed validity ends soon; the second one is redeemed. */
export function ending(it: ProbeContext) {
  return keep(it, 'ending vouchers', async () => {
    const starts_at = await platformTime(it, -1_000)
    const ends_at = new Date(Date.parse(starts_at) + FIXED_MS + 1_000).toISOString()
    const template_id = await activeTemplate(it, { validity: { type: 'fixed', starts_at, ends_at } })
    const used = await voucher(it, { template_id })
    const redemption = it.needs(await it.call(vouchers.redeem, { credential: credentialOf(it, used) }), 'a redemption')
    const input = await issueInput(it, { template_id })
    const unused = it.needs(await it.call(vouchers.issue, input), 'an issued voucher')
    return { starts_at, ends_at, input, unused, used, redemption }
  })
}

/** The same vouchers after their end, with a verification of the first one. */
export function ended(it: ProbeContext) {
  return keep(it, 'ended vouchers', async () => {
    const vouchersBefore = await ending(it)
    const { unused, ends_at } = vouchersBefore
    return { ...vouchersBefore, verified: await verifyAfterEnd(it, unused, Date.parse(ends_at)) }
  })
}

async function verifyAfterEnd(it: ProbeContext, one: IssuedVoucher, endsAt: number): Promise<Observed<Verification>> {
  for (let tries = 3; tries > 0; tries -= 1) {
    const verified = await verify(it, one)
    const leftMs = endsAt - timeOf(it, it.needs(verified, 'a verification').checkedAt)
    if (leftMs <= 0) return verified
    if (tries > 1) await it.resources.pause(Math.min(leftMs + 50, FIXED_MS))
  }
  return it.notApplicable('The clock of the platform stands still.')
}

/** Creation of a draft that no probe submits, and the local time of its response. */
export function draftCall(it: ProbeContext): Promise<{ readonly response: Observed<Template>; readonly at: number }> {
  return keep(it, 'draft', async () => {
    const response = await create(it, templateInput(it))
    return { response, at: Date.now() }
  })
}

/** A draft that no probe submits. */
export const keptDraft = async (it: ProbeContext) => it.needs((await draftCall(it)).response, 'a template')

/** Creates a template that the platform may refuse. */
export async function create(it: ProbeContext, input: Readonly<Record<string, unknown>>): Promise<Observed<Template>> {
  return registered(it, await it.call(templates.create, input))
}

/** The same call of a bot. */
export async function createByBot(
  it: ProbeContext,
  input: Readonly<Record<string, unknown>>,
  botId = botIdOf(it),
): Promise<Observed<Template>> {
  return registered(it, await it.call(bots.createTemplate, { botId, ...input }))
}

/** Submits a template; the body is `{}`: that it may be absent is another statement. */
export const submit = (it: ProbeContext, templateId: string) =>
  it.call(templates.submit, { templateId }, { body: '{}' })

/** The same call of a bot. */
export const submitByBot = (it: ProbeContext, botId: string, templateId: string) =>
  it.call(bots.submitTemplate, { botId, templateId }, { body: '{}' })

/** Id of the user's bot. */
export const botIdOf = (it: ProbeContext) => it.resources.offer.botId ?? it.resources.lacking('bot id')

/** Issues into the user's chat, without an idempotency key unless the options have one. */
export async function issueIntoChat(it: ProbeContext, changes: Readonly<Record<string, unknown>> = {}, key?: string) {
  const { recipient_user_id: _, ...input } = await issueInput(it, changes)
  const chat_id = it.resources.offer.chat ?? it.resources.lacking('chat')
  const sent = { chat_id, ...input }
  return { input: sent, response: await it.call(bots.issue, sent, key === undefined ? {} : { key }) }
}

/** First issue into the user's chat. */
export const chatIssue = (it: ProbeContext) => keep(it, 'issue into the chat', () => issueIntoChat(it))

/** A voucher in the user's chat. */
export const delivered = async (it: ProbeContext) => it.needs((await chatIssue(it)).response, 'a voucher in the chat')

/** Bot of this run, which the platform must approve: it is linked to no application, except within a probe. */
export function ownBot(it: ProbeContext): Promise<{ readonly id: string; readonly token: string | undefined }> {
  return keep(it, 'bot of the vouchers', async () => {
    const scopes = ['vouchers:read', 'vouchers:templates:write', 'vouchers:issue']
    const { id } = it.needs(await apply(it, { scopes }), 'a bot')
    const found = it.needs(await it.call(bots.get, { botId: id }), 'a bot')
    if (found.review_status !== 'approved')
      it.notApplicable('Needs a platform that approves a bot when it is submitted.')
    return { id, token: found.one_time_token }
  })
}

/** Links a bot until `unlink`, or the end of the run. */
export async function link(it: ProbeContext, appId: string, botId: string): Promise<void> {
  it.needs(await it.call(apps.linkBot, { appId, botId }), 'a linked bot')
  it.resources.removes('link', `${appId} ${botId}`, async () =>
    leftAfter(await it.call(apps.unlinkBot, { appId, botId }), 'ended'),
  )
}

export async function unlink(it: ProbeContext, appId: string, botId: string): Promise<void> {
  it.needs(await it.call(apps.unlinkBot, { appId, botId }), 'an unlinked bot')
}

/** RFC 3339 time of the platform's clock, some ms from now. */
export async function platformTime(it: ProbeContext, plusMs: number): Promise<string> {
  const { createdAt } = await keptDraft(it)
  const { at } = await draftCall(it)
  return new Date(timeOf(it, createdAt) + Date.now() - at + plusMs).toISOString()
}

/** Ms since the epoch. @throws NotApplicable for a time in another form, which the rule of times reports */
export function timeOf(it: ProbeContext, text: string): number {
  const time = Date.parse(text)
  return Number.isNaN(time) ? it.notApplicable('Needs times in the form of RFC 3339.') : time
}
