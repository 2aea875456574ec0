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

/** A response with the input of its call, for a probe that repeats the call. */
interface Sent<Data> {
  readonly input: Readonly<Record<string, unknown>>
  readonly key: string
  readonly response: Observed<Data>
}

/** Like `shared`, with a name that only the probes of this group use. */
export const keep = <R>(it: ProbeContext, name: string, call: () => Promise<R>) => shared(it, `vouchers: ${name}`, call)

/** Issues a voucher that no probe redeems. */
export function issueCall(run: ProbeContext): Promise<Sent<IssuedVoucher>> {
  return keep(run, 'issue', async () => {
    const input = await issueInput(run)
    const key = run.resources.name()
    return { input, key, response: await run.call(vouchers.issue, input, { key }) }
  })
}

export const issued = async (it: ProbeContext) => it.needs((await issueCall(it)).response, 'an issued voucher')

/** Redeems a voucher by its redeem code; no probe reverses this redemption. */
export function redeemCall(run: ProbeContext): Promise<Sent<Redemption> & { readonly voucher: IssuedVoucher }> {
  return keep(run, 'redeem', async () => {
    const one = await voucher(run)
    const input = { credential: credentialOf(run, one) }
    const key = run.resources.name()
    return { voucher: one, input, key, response: await run.call(vouchers.redeem, input, { key }) }
  })
}

export const redeemed = async (it: ProbeContext) => it.needs((await redeemCall(it)).response, 'a redemption')

export async function newRedemption(run: ProbeContext, changes: Readonly<Record<string, unknown>> = {}) {
  const one = await voucher(run)
  const input = { credential: credentialOf(run, one), ...changes }
  const key = run.resources.name()
  const redemption = run.needs(await run.call(vouchers.redeem, input, { key }), 'a redemption')
  return { voucher: one, input, key, redemption }
}

/** Reverses a redemption; no probe redeems its voucher again. */
export function reversal(run: ProbeContext) {
  return keep(run, 'reversal', async () => {
    const { voucher: one, redemption } = await newRedemption(run)
    const key = run.resources.name()
    const response = await reverse(run, redemption.id, key)
    return { voucher: one, redemption, key, response }
  })
}

/** Reverses a redemption. Sends the body `{}`, because another probe tests that the body may be absent. */
export const reverse = (run: ProbeContext, redemptionId: string, key: string | null = run.resources.name()) =>
  run.call(vouchers.reverse, { redemptionId }, { key, body: '{}' })

/** A template with an issue limit of 1, and its only voucher. */
export function limited(run: ProbeContext) {
  return keep(run, 'limited template', async () => {
    const template_id = await activeTemplate(run, { issue_limit: 1 })
    return { template_id, voucher: await voucher(run, { template_id }) }
  })
}

/** Issues a second voucher from that template, before any probe reverses a redemption of the first. */
export async function issueBeyondLimit(run: ProbeContext): Promise<Observed<IssuedVoucher>> {
  const { template_id } = await limited(run)
  return keep(run, 'issue beyond the limit', () => tryIssue(run, { template_id }))
}

export function future(run: ProbeContext) {
  return keep(run, 'voucher of tomorrow', async () => {
    const validity = { type: 'relative', duration_days: 1, delay_days: 1 } as const
    const template_id = await activeTemplate(run, { validity })
    return { template_id, voucher: await voucher(run, { template_id }) }
  })
}

/** Verifies that voucher before any probe tries to redeem it. */
export const futureVerified = async (run: ProbeContext) => {
  const { voucher: one } = await future(run)
  return keep(run, 'verification of the voucher of tomorrow', () => verify(run, one))
}

export function verify(run: ProbeContext, one: IssuedVoucher): Promise<Observed<Verification>> {
  return run.call(vouchers.verify, { credential: credentialOf(run, one) })
}

/** Ms from the start to the end of a fixed validity. */
const FIXED_MS = 2_000

/** Two vouchers whose fixed validity ends soon; the second one is redeemed. */
export function ending(run: ProbeContext) {
  return keep(run, 'ending vouchers', async () => {
    const starts_at = await platformTime(run, -1_000)
    const ends_at = new Date(Date.parse(starts_at) + FIXED_MS + 1_000).toISOString()
    const template_id = await activeTemplate(run, { validity: { type: 'fixed', starts_at, ends_at } })
    const used = await voucher(run, { template_id })
    const redemption = run.needs(
      await run.call(vouchers.redeem, { credential: credentialOf(run, used) }),
      'a redemption',
    )
    const input = await issueInput(run, { template_id })
    const unused = run.needs(await run.call(vouchers.issue, input), 'an issued voucher')
    return { starts_at, ends_at, input, unused, used, redemption }
  })
}

/** These vouchers after the end of their validity, with a verification of the first one. */
export function ended(run: ProbeContext) {
  return keep(run, 'ended vouchers', async () => {
    const vouchersBefore = await ending(run)
    const { unused, ends_at } = vouchersBefore
    return { ...vouchersBefore, verified: await verifyAfterEnd(run, unused, Date.parse(ends_at)) }
  })
}

async function verifyAfterEnd(run: ProbeContext, one: IssuedVoucher, endsAt: number): Promise<Observed<Verification>> {
  for (let tries = 3; tries > 0; tries -= 1) {
    const verified = await verify(run, one)
    const leftMs = endsAt - timeOf(run, run.needs(verified, 'a verification').checkedAt)
    if (leftMs <= 0) return verified
    if (tries > 1) await run.resources.pause(Math.min(leftMs + 50, FIXED_MS))
  }
  return run.notApplicable('The clock of the platform stands still.')
}

/** Creates a draft that no probe submits; returns also the local time of the response. */
export function draftCall(run: ProbeContext): Promise<{ readonly response: Observed<Template>; readonly at: number }> {
  return keep(run, 'draft', async () => {
    const response = await create(run, templateInput(run))
    return { response, at: Date.now() }
  })
}

export const keptDraft = async (it: ProbeContext) => it.needs((await draftCall(it)).response, 'a template')

/** Creates a template that the platform may refuse. */
export async function create(run: ProbeContext, input: Readonly<Record<string, unknown>>): Promise<Observed<Template>> {
  return registered(run, await run.call(templates.create, input))
}

/** Creates a template by a bot, with the same rules. */
export async function createByBot(
  run: ProbeContext,
  input: Readonly<Record<string, unknown>>,
  botId = botIdOf(run),
): Promise<Observed<Template>> {
  return registered(run, await run.call(bots.createTemplate, { botId, ...input }))
}

/** Submits a template. Sends the body `{}`, because another probe tests that the body may be absent. */
export const submit = (run: ProbeContext, templateId: string) =>
  run.call(templates.submit, { templateId }, { body: '{}' })

export const submitByBot = (run: ProbeContext, botId: string, templateId: string) =>
  run.call(bots.submitTemplate, { botId, templateId }, { body: '{}' })

export const botIdOf = (it: ProbeContext) => it.resources.offer.botId ?? it.resources.lacking('bot id')

/** Issues into the user's chat, without an idempotency key unless the options have one. */
export async function issueIntoChat(run: ProbeContext, changes: Readonly<Record<string, unknown>> = {}, key?: string) {
  const { recipient_user_id: _, ...input } = await issueInput(run, changes)
  const chat_id = run.resources.offer.chat ?? run.resources.lacking('chat')
  const sent = { chat_id, ...input }
  return { input: sent, response: await run.call(bots.issue, sent, key === undefined ? {} : { key }) }
}

/** First issue into the user's chat. */
export const chatIssue = (it: ProbeContext) => keep(it, 'issue into the chat', () => issueIntoChat(it))

export const delivered = async (it: ProbeContext) => it.needs((await chatIssue(it)).response, 'a voucher in the chat')

/** Bot of this run, which the platform must approve. Outside of single probes it is linked to no application. */
export function ownBot(run: ProbeContext): Promise<{ readonly id: string; readonly token: string | undefined }> {
  return keep(run, 'bot of the vouchers', async () => {
    const scopes = ['vouchers:read', 'vouchers:templates:write', 'vouchers:issue']
    const { id } = run.needs(await apply(run, { scopes }), 'a bot')
    const found = run.needs(await run.call(bots.get, { botId: id }), 'a bot')
    if (found.review_status !== 'approved')
      run.notApplicable('Needs a platform that approves a bot when it is submitted.')
    return { id, token: found.one_time_token }
  })
}

/** Links a bot; the link ends with `unlink` or the run. */
export async function link(run: ProbeContext, appId: string, botId: string): Promise<void> {
  run.needs(await run.call(apps.linkBot, { appId, botId }), 'a linked bot')
  run.resources.removes('link', `${appId} ${botId}`, async () =>
    leftAfter(await run.call(apps.unlinkBot, { appId, botId }), 'ended'),
  )
}

export async function unlink(run: ProbeContext, appId: string, botId: string): Promise<void> {
  run.needs(await run.call(apps.unlinkBot, { appId, botId }), 'an unlinked bot')
}

/** RFC 3339 time of the platform's clock, some ms from now. */
export async function platformTime(run: ProbeContext, plusMs: number): Promise<string> {
  const { createdAt } = await keptDraft(run)
  const { at } = await draftCall(run)
  return new Date(timeOf(run, createdAt) + Date.now() - at + plusMs).toISOString()
}

/** Parses a time to ms since the epoch. @throws NotApplicable for another form, which the rule of times reports */
export function timeOf(run: ProbeContext, text: string): number {
  const time = Date.parse(text)
  return Number.isNaN(time) ? run.notApplicable('Needs times in the form of RFC 3339.') : time
}

/** Sends a call five times at once, and counts the successes. */
export async function successesOf(call: (n: number) => Promise<Observed>): Promise<number> {
  const responses = await Promise.all(Array.from({ length: 5 }, (_, n) => call(n)))
  return responses.filter(({ status }) => status >= 200 && status <= 299).length
}
