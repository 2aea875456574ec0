import { contract } from '../../../contract/index.js'
import type { Voucher } from '../../../contract/vouchers.js'
import { activeTemplate, credentialOf, issueInput, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { needsStatus, redeemed, tokensOfRun, UNKNOWN_REDEMPTION, unredeemed, verifyToken } from './shared.js'

const probe = probesOf('order-of-checks', { needs: ['token', 'template'] })
const { templates, vouchers } = contract

const SOON_MS = 2_000
const readRedemption = (it: ProbeContext, redemptionId: string) => it.call(vouchers.redemption, { redemptionId })

/** Why a voucher cannot be redeemed by its recipient, or by another one. */
async function reasonOf(it: ProbeContext, one: Parameters<typeof credentialOf>[1], recipient_user_id: string) {
  const input = { credential: credentialOf(it, one), recipient_user_id }
  return it.needs(await it.call(vouchers.verify, input), 'a verification').reason
}

/** Observes that a voucher with a reason has the same reason for another recipient. */
async function reasonIsFirst(
  it: ProbeContext,
  one: Parameters<typeof credentialOf>[1] & Pick<Voucher, 'recipientUserId'>,
) {
  const reason = await reasonOf(it, one, one.recipientUserId)
  const mismatch = await reasonOf(it, await unredeemed(it), 'conform-other')
  if (reason === null || mismatch === null || reason === mismatch) it.notApplicable('Needs a reason of a verification.')
  it.equals('reason', await reasonOf(it, one, 'conform-other'), reason)
}

/** Two vouchers of a template whose validity has ended; the first one is redeemed. */
const ended = (it: ProbeContext) =>
  it.resources.once('calls ended vouchers', async () => {
    const clock = it.needs(
      await it.call(vouchers.verify, { credential: credentialOf(it, await unredeemed(it)) }),
      'a time',
    )
    const now = Date.parse(clock.checkedAt)
    if (Number.isNaN(now)) it.notApplicable('Needs the time of the platform.')
    const [starts_at, ends_at] = [now - 60_000, now + SOON_MS].map((ms) => new Date(ms).toISOString())
    const template_id = await activeTemplate(it, { validity: { type: 'fixed', starts_at, ends_at } as never })
    const first = await voucher(it, { template_id })
    const second = await voucher(it, { template_id })
    it.needs(await it.call(vouchers.redeem, { credential: credentialOf(it, first) }), 'a redemption')
    const beforeEnd = await reasonOf(it, first, first.recipientUserId)
    await it.resources.pause(SOON_MS)
    return { first, second, beforeEnd }
  })

export const orderOfObjects = [
  probe(
    'scope-before-replay',
    'A repeated issue with a token that lacks the scope is refused with 403.',
    { needs: ['token', 'jwt', 'template'], vouchers: 1 },
    async (it) => {
      const as = await verifyToken(it)
      needsStatus(it, await it.call(templates.list, {}, { as }), 403)
      const key = it.resources.name()
      const input = await issueInput(it)
      it.needs(await it.call(vouchers.issue, input, { key }), 'an issued voucher')
      const repeated = await it.call(vouchers.issue, input, { key })
      if (!repeated.isReplay) it.notApplicable('Needs a platform that replays.')
      it.refuses(await it.call(vouchers.issue, input, { key, as }), 403)
    },
  ),
  probe(
    'malformed-id',
    'A malformed id is refused with 404, as an unknown one.',
    { needs: ['token'], reads: true },
    async (it) => {
      needsStatus(it, await readRedemption(it, UNKNOWN_REDEMPTION), 404)
      it.refuses(await readRedemption(it, 'conform'), 404)
    },
  ),
  probe(
    'object-of-another-tenant',
    'The response to a call with a redemption of another application is that of an unknown one.',
    { needs: ['token', 'jwt', 'template'] },
    async (it) => {
      const { id } = it.needs((await redeemed(it)).response, 'a redemption')
      const { reading: credential } = await tokensOfRun(it)
      const bodies = []
      for (const redemptionId of [id, UNKNOWN_REDEMPTION]) {
        const response = await it.call(vouchers.redemption, { redemptionId }, { as: { credential } })
        needsStatus(it, response, 404)
        bodies.push({ ...membersOrNone(response.json), requestId: undefined })
      }
      it.equals('body', bodies[0], bodies[1])
    },
  ),
  probe(
    'redeemed-before-recipient',
    'The verification of a redeemed voucher for another recipient says that it is redeemed.',
    async (it) => {
      const { voucher: one, response } = await redeemed(it)
      it.needs(response, 'a redemption')
      await reasonIsFirst(it, one)
    },
  ),
  probe(
    'future-before-recipient',
    'The verification of a voucher that is not valid yet, for another recipient, says that it is not valid yet.',
    { needs: ['token'], vouchers: 1 },
    async (it) => {
      const template_id = await activeTemplate(it, { validity: { type: 'relative', duration_days: 1, delay_days: 1 } })
      await reasonIsFirst(it, await voucher(it, { template_id }))
    },
  ),
  probe(
    'expired-before-recipient',
    'The verification of an expired voucher for another recipient says that it has expired.',
    { vouchers: 2, waitsMs: SOON_MS },
    async (it) => reasonIsFirst(it, (await ended(it)).second),
  ),
  probe(
    'redeemed-before-expired',
    'The verification of a voucher that was redeemed and has expired says that it is redeemed.',
    { waitsMs: SOON_MS },
    async (it) => {
      const { first, second, beforeEnd } = await ended(it)
      const expired = await reasonOf(it, second, second.recipientUserId)
      if (beforeEnd === null || expired === null) it.notApplicable('Needs a redeemed and an expired voucher.')
      it.equals('reason', await reasonOf(it, first, first.recipientUserId), beforeEnd)
    },
  ),
]
