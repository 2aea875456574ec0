import { contract } from '../../../contract/index.js'
import type { Update, UpdateType } from '../../../contract/updates.js'
import type { IssuedVoucher } from '../../../contract/vouchers.js'
import { listen, poll, select, userBot, waiting, whileWebhook } from '../../bot-fixtures.js'
import { credentialOf, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'

const { vouchers, webhook } = contract

const defaults = ['friend_request', 'inline_query', 'message', 'my_chat_member', 'ping']
const voucherTypes = ['voucher_issued', 'voucher_redeemed', 'voucher_reversed'] as const
const ARRIVES_S = 2
const DELIVERED_MS = 3_000

const needs = ['bot', 'token', 'template'] as const
const typeProbe = probesOf('update-types', { needs: [...needs, 'jwt', 'bot id'] })
const botProbe = typeProbe.with({ needs: ['bot'] })
const arriving = typeProbe.with({ vouchers: 1, waitsMs: ARRIVES_S * 1000 })
const arrivingTwo = typeProbe.with({ vouchers: 2, waitsMs: ARRIVES_S * 1000 })
const updateProbe = probesOf('updates', { needs })
const issuing = updateProbe.with({ vouchers: 1 })
const delivering = updateProbe.with({
  needs: [...needs, 'jwt', 'bot id', 'webhook'],
  vouchers: 1,
  waitsMs: DELIVERED_MS,
})
const issuingTwo = updateProbe.with({ vouchers: 2 })

const isAbout = (update: Update, { id, externalIssueId }: IssuedVoucher) => {
  const text = JSON.stringify(update)
  return text.includes(id) || text.includes(externalIssueId)
}

/** Reads and confirms updates until one of the type is about a given voucher, or no more arrive in time. */
async function arrives(
  run: ProbeContext,
  type: UpdateType,
  about: IssuedVoucher,
  seconds = ARRIVES_S,
): Promise<boolean> {
  for (let offset: number | undefined; ; ) {
    const input = { timeout: seconds, ...(offset === undefined ? {} : { offset }) }
    const { items } = run.needs(await poll(run, input), 'a bot that polls')
    if (items.some((update) => update.type === type && isAbout(update, about))) return true
    const last = Math.max(-1, ...items.map(({ update_id }) => update_id))
    if (last < (offset ?? 0)) return false
    offset = last + 1
  }
}

/** Issues a voucher of an application to which the user's bot is linked. */
async function voucherOfBot(run: ProbeContext): Promise<IssuedVoucher> {
  const { application_id } = await userBot(run)
  const issued = await voucher(run)
  if (issued.applicationId === application_id) return issued
  return run.notApplicable('Needs a bot that is linked to the application of the token.')
}

/** Creates an update of a type with a call about a voucher. */
async function cause(run: ProbeContext, type: (typeof voucherTypes)[number]): Promise<IssuedVoucher> {
  const issued = await voucherOfBot(run)
  if (type === 'voucher_issued') return issued
  const input = { credential: credentialOf(run, issued) }
  const { id: redemptionId } = run.needs(await run.call(vouchers.redeem, input), 'a redemption')
  if (type === 'voucher_reversed') run.needs(await run.call(vouchers.reverse, { redemptionId }), 'a reversal')
  return issued
}

/** The types of updates that the user's bot gets. */
async function selected(run: ProbeContext): Promise<string[]> {
  return [...run.needs(await run.call(webhook.info, {}), 'settings of a bot').allowed_updates].sort()
}

export const updates = [
  issuing(1, 'members', 'An update has update_id, type, created_at and the member of its type.', async (run) => {
    const update = (await waiting(run, 1))[0] ?? run.notApplicable('Needs an update.')
    const { update_id, type, created_at } = update
    const payload = (update as Readonly<Record<string, unknown>>)[type]
    run.holds(Number.isInteger(update_id), 'a whole number in update_id', update)
    run.holds(typeof created_at === 'string', 'a time in created_at', update)
    run.holds(typeof payload === 'object' && payload !== null, `an object in ${type}`, update)
  }),
  issuing(1, 'same-bytes', 'Two polls return the same bytes of an update.', async (run) => {
    await waiting(run, 1)
    const first = await poll(run)
    run.needs(first, 'a bot that polls')
    const second = await poll(run)
    run.needs(second, 'a bot that polls')
    if (first.data.items.length !== second.data.items.length) run.notApplicable('Needs a bot without other updates.')
    run.equals('updates', itemsText(second.text), itemsText(first.text))
  }),
  delivering(1, 'same-bytes-by-webhook', 'A webhook gets the same bytes of an update as a poll.', async (run) => {
    await waiting(run, 1)
    const { text } = await poll(run, { limit: 1 })
    await whileWebhook(run, async (path) => {
      const [arrival] = (await run.resources.offer.receiver?.wait(path, 1, DELIVERED_MS)) ?? []
      const body = arrival?.rawBody.toString('utf8') ?? run.notApplicable('Needs a delivery.')
      run.holds(text.includes(body), `the bytes that the poll returned: ${itemsText(text)}`, body)
    })
  }),
  issuingTwo(1, 'ids-without-gaps', 'The ids of updates count without gaps.', async (run) => {
    const ids = (await waiting(run, 2)).map(({ update_id }) => update_id).sort((a, b) => a - b)
    const expected = ids.map((_, index) => (ids[0] ?? 0) + index)
    const sorted = [...ids].sort((a, b) => a - b)
    run.equals('ids in their order', sorted, expected)
  }),
  issuingTwo(1, 'ids-are-not-used-twice', "An update's id is above all earlier ids, even confirmed.", async (run) => {
    const before = (await waiting(run, 1)).map(({ update_id }) => update_id)
    const last = Math.max(...before)
    run.needs(await poll(run, { offset: last + 1 }), 'confirmed updates')
    const [next] = await waiting(run, 1)
    run.holds((next?.update_id ?? 0) > last, `an id above ${last}`, next?.update_id)
  }),
]

/** Matches the part of a response with the updates. */
const itemsText = (text: string) => /"items":\s*(\[.*\])/s.exec(text)?.[1] ?? text

export const updateTypeProbes = [
  botProbe(1, 'default', 'An empty allowed_updates selects the five default types.', async (run) => {
    await select(run, [])
    run.equals('allowed_updates', await selected(run), defaults)
  }),
  botProbe(1, 'absent', 'A poll without allowed_updates leaves the selection unchanged.', async (run) => {
    await select(run, ['message', 'voucher_redeemed'])
    const before = await selected(run)
    run.needs(await poll(run, { limit: 1 }), 'a bot that polls')
    run.equals('allowed_updates', await selected(run), before)
  }),
  ...voucherTypes.map((type) =>
    arriving(
      1,
      type.replaceAll('_', '-'),
      `A linked bot whose allowed_updates names ${type} gets this update.`,
      async (run) => {
        await listen(run, [type])
        const about = await cause(run, type)
        run.holds(await arrives(run, type, about), `${type} of the voucher`, 'no such update')
      },
    ),
  ),
  arriving(1, 'not-named', 'A bot whose allowed_updates does not name a type gets no update of it.', async (run) => {
    await listen(run, ['voucher_redeemed'])
    const about = await voucherOfBot(run)
    run.needs(await run.call(vouchers.redeem, { credential: credentialOf(run, about) }), 'a redemption')
    const { items } = run.needs(await poll(run, { timeout: ARRIVES_S }), 'a bot that polls')
    run.holds(!items.some(({ type }) => type === 'voucher_issued'), 'no voucher_issued', items)
  }),
  arrivingTwo(1, 'selected-later', 'A type that is selected later brings no update of before.', async (run) => {
    await listen(run, ['ping'])
    const before = await voucherOfBot(run)
    await select(run, ['voucher_issued'])
    const after = await voucherOfBot(run)
    const { items } = run.needs(await poll(run, { timeout: ARRIVES_S }), 'a bot that polls')
    if (!items.some((update) => isAbout(update, after))) run.notApplicable('Needs an update of a voucher.')
    run.holds(!items.some((update) => isAbout(update, before)), 'no update of the earlier voucher', items)
  }),
  arriving(1, 'deselected-later', 'An update stays after its type is no longer selected.', async (run) => {
    await listen(run, ['voucher_issued'])
    const about = await voucherOfBot(run)
    const { items } = run.needs(await poll(run, { timeout: ARRIVES_S }), 'a bot that polls')
    if (!items.some((update) => isAbout(update, about))) run.notApplicable('Needs an update of a voucher.')
    await select(run, [])
    run.holds(await arrives(run, 'voucher_issued', about), 'the update of before', 'none')
  }),
]
