import { contract } from '../../../contract/index.js'
import type { Update, UpdateType } from '../../../contract/updates.js'
import type { IssuedVoucher } from '../../../contract/vouchers.js'
import { listen, poll, select, userBot, waiting } from '../../bot-fixtures.js'
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
const updateProbe = probesOf('updates', { needs })

const isAbout = (update: Update, { id, externalIssueId }: IssuedVoucher) => {
  const text = JSON.stringify(update)
  return text.includes(id) || text.includes(externalIssueId)
}

/** Reads and confirms updates until one of a type is about a voucher, or no more arrive in time. */
async function arrives(
  it: ProbeContext,
  type: UpdateType,
  about: IssuedVoucher,
  seconds = ARRIVES_S,
): Promise<boolean> {
  for (let offset: number | undefined; ; ) {
    const input = { timeout: seconds, ...(offset === undefined ? {} : { offset }) }
    const { items } = it.needs(await poll(it, input), 'a bot that polls')
    if (items.some((update) => update.type === type && isAbout(update, about))) return true
    const last = Math.max(-1, ...items.map(({ update_id }) => update_id))
    if (last < (offset ?? 0)) return false
    offset = last + 1
  }
}

/** Issues a voucher of an application to which the user's bot is linked. */
async function voucherOfBot(it: ProbeContext): Promise<IssuedVoucher> {
  const { application_id } = await userBot(it)
  const issued = await voucher(it)
  if (issued.applicationId === application_id) return issued
  return it.notApplicable('Needs a bot that is linked to the application of the token.')
}

/** Makes an update of a type with a call about a voucher. */
async function cause(it: ProbeContext, type: (typeof voucherTypes)[number]): Promise<IssuedVoucher> {
  const issued = await voucherOfBot(it)
  if (type === 'voucher_issued') return issued
  const input = { credential: credentialOf(it, issued) }
  const { id: redemptionId } = it.needs(await it.call(vouchers.redeem, input), 'a redemption')
  if (type === 'voucher_reversed') it.needs(await it.call(vouchers.reverse, { redemptionId }), 'a reversal')
  return issued
}

/** The types of updates that the user's bot gets. */
async function selected(it: ProbeContext): Promise<string[]> {
  return [...it.needs(await it.call(webhook.info, {}), 'settings of a bot').allowed_updates].sort()
}

export const updates = [
  updateProbe(
    'members',
    'An update has update_id, type, created_at and the member of its type.',
    { vouchers: 1 },
    async (it) => {
      const update = (await waiting(it, 1))[0] ?? it.notApplicable('Needs an update.')
      const { update_id, type, created_at, [type]: payload } = update
      it.holds(Number.isInteger(update_id), 'a whole number in update_id', update)
      it.holds(typeof created_at === 'string', 'a time in created_at', update)
      it.holds(typeof payload === 'object' && payload !== null, `an object in ${type}`, update)
    },
  ),
  updateProbe('same-bytes', 'Two polls return the same bytes of an update.', { vouchers: 1 }, async (it) => {
    await waiting(it, 1)
    const first = await poll(it)
    it.needs(first, 'a bot that polls')
    const second = await poll(it)
    it.needs(second, 'a bot that polls')
    if (first.data.items.length !== second.data.items.length) it.notApplicable('Needs a bot without other updates.')
    it.equals('updates', itemsText(second.text), itemsText(first.text))
  }),
  updateProbe(
    'same-bytes-by-webhook',
    'A webhook gets the same bytes of an update as a poll.',
    { needs: [...needs, 'jwt', 'bot id', 'webhook'], vouchers: 1, waitsMs: DELIVERED_MS },
    async (it) => {
      await waiting(it, 1)
      const { text } = await poll(it, { limit: 1 })
      const { receiver, botId } = it.resources.offer
      const path = `/${it.resources.name()}`
      it.needs(await it.call(webhook.set, { botId, url: `${receiver?.url}${path}` }), 'a webhook')
      try {
        const [arrival] = (await receiver?.wait(path, 1, DELIVERED_MS)) ?? []
        const body = arrival?.rawBody.toString('utf8') ?? it.notApplicable('Needs a delivery.')
        it.holds(text.includes(body), `the bytes that the poll returned: ${itemsText(text)}`, body)
      } finally {
        await it.call(webhook.delete, { botId })
      }
    },
  ),
  updateProbe('ids-without-gaps', 'The ids of updates count without gaps.', { vouchers: 2 }, async (it) => {
    const ids = (await waiting(it, 2)).map(({ update_id }) => update_id).sort((a, b) => a - b)
    const expected = ids.map((_, index) => (ids[0] ?? 0) + index)
    it.equals(
      'ids in their order',
      [...ids].sort((a, b) => a - b),
      expected,
    )
  }),
  updateProbe(
    'ids-are-not-used-twice',
    'An update gets a greater id than all updates before, confirmed ones too.',
    { vouchers: 2 },
    async (it) => {
      const before = (await waiting(it, 1)).map(({ update_id }) => update_id)
      const last = Math.max(...before)
      it.needs(await poll(it, { offset: last + 1 }), 'confirmed updates')
      const [next] = await waiting(it, 1)
      it.holds((next?.update_id ?? 0) > last, `an id above ${last}`, next?.update_id)
    },
  ),
]

/** The part of a response that holds the updates. */
const itemsText = (text: string) => /"items":\s*(\[.*\])/s.exec(text)?.[1] ?? text

export const updateTypeProbes = [
  typeProbe('default', 'An empty allowed_updates selects the five default types.', { needs: ['bot'] }, async (it) => {
    await select(it, [])
    it.equals('allowed_updates', await selected(it), defaults)
  }),
  typeProbe(
    'absent',
    'A poll without allowed_updates leaves the selection unchanged.',
    { needs: ['bot'] },
    async (it) => {
      await select(it, ['message', 'voucher_redeemed'])
      const before = await selected(it)
      it.needs(await poll(it, { limit: 1 }), 'a bot that polls')
      it.equals('allowed_updates', await selected(it), before)
    },
  ),
  ...voucherTypes.map((type) =>
    typeProbe(
      type.replaceAll('_', '-'),
      `A linked bot whose allowed_updates names ${type} gets this update.`,
      { vouchers: 1, waitsMs: ARRIVES_S * 1000 },
      async (it) => {
        await listen(it, [type])
        const about = await cause(it, type)
        it.holds(await arrives(it, type, about), `${type} of the voucher`, 'no such update')
      },
    ),
  ),
  typeProbe(
    'not-named',
    'A bot whose allowed_updates does not name a type gets no update of it.',
    { vouchers: 1, waitsMs: ARRIVES_S * 1000 },
    async (it) => {
      await listen(it, ['voucher_redeemed'])
      const about = await voucherOfBot(it)
      it.needs(await it.call(vouchers.redeem, { credential: credentialOf(it, about) }), 'a redemption')
      const { items } = it.needs(await poll(it, { timeout: ARRIVES_S }), 'a bot that polls')
      it.holds(!items.some(({ type }) => type === 'voucher_issued'), 'no voucher_issued', items)
    },
  ),
  typeProbe(
    'selected-later',
    'A type that is selected later brings no update of before.',
    { vouchers: 2, waitsMs: ARRIVES_S * 1000 },
    async (it) => {
      await listen(it, ['ping'])
      const before = await voucherOfBot(it)
      await select(it, ['voucher_issued'])
      const after = await voucherOfBot(it)
      const { items } = it.needs(await poll(it, { timeout: ARRIVES_S }), 'a bot that polls')
      if (!items.some((update) => isAbout(update, after))) it.notApplicable('Needs an update of a voucher.')
      it.holds(!items.some((update) => isAbout(update, before)), 'no update of the earlier voucher', items)
    },
  ),
  typeProbe(
    'deselected-later',
    'An update stays after its type is no longer selected.',
    { vouchers: 1, waitsMs: ARRIVES_S * 1000 },
    async (it) => {
      await listen(it, ['voucher_issued'])
      const about = await voucherOfBot(it)
      const { items } = it.needs(await poll(it, { timeout: ARRIVES_S }), 'a bot that polls')
      if (!items.some((update) => isAbout(update, about))) it.notApplicable('Needs an update of a voucher.')
      await select(it, [])
      it.holds(await arrives(it, 'voucher_issued', about), 'the update of before', 'none')
    },
  ),
]
