import { isDeepStrictEqual } from 'node:util'
import { contract } from '../../../contract/index.js'
import type { Voucher } from '../../../contract/vouchers.js'
import { activeTemplate, credentialOf, issueInput, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { ended } from '../vouchers/shared.js'
import { redeemed, tokensOfRun, UNKNOWN_REDEMPTION, unredeemed, verifyToken } from './shared.js'

const probe = probesOf('order-of-checks', { needs: ['token', 'template'] })
const ending = probe.with({ waitsMs: 3_000 })
const tokenRead = probe.with({ needs: ['token'], reads: true })
const { templates, vouchers } = contract

const readRedemption = (it: ProbeContext, redemptionId: string) => it.call(vouchers.redemption, { redemptionId })

/** Returns why a voucher cannot be redeemed, for its recipient and for another one. */
async function reasonOf(run: ProbeContext, one: Parameters<typeof credentialOf>[1], recipient_user_id: string) {
  const input = { credential: credentialOf(run, one), recipient_user_id }
  return run.needs(await run.call(vouchers.verify, input), 'a verification').reason
}

/** Tests that a voucher which cannot be redeemed has the same reason for another recipient. */
async function reasonIsFirst(
  run: ProbeContext,
  one: Parameters<typeof credentialOf>[1] & Pick<Voucher, 'recipientUserId'>,
) {
  const reason = await reasonOf(run, one, one.recipientUserId)
  const mismatch = await reasonOf(run, await unredeemed(run), 'conform-other')
  if (reason === null || mismatch === null || reason === mismatch)
    run.notApplicable('Needs a reason of a verification.')
  run.equals('reason', await reasonOf(run, one, 'conform-other'), reason)
}

export const orderOfObjects = [
  probe.with({ needs: ['token', 'jwt', 'template'], vouchers: 1 })(
    3,
    'scope-before-replay',
    'A repeated issue with a token that lacks the scope is refused with 403.',
    async (run) => {
      const as = await verifyToken(run)
      run.needsRefusal(await run.call(templates.list, {}, { as }), 403)
      const key = run.resources.name()
      const input = await issueInput(run)
      run.needs(await run.call(vouchers.issue, input, { key }), 'an issued voucher')
      const repeated = await run.call(vouchers.issue, input, { key })
      if (!repeated.isReplay) run.notApplicable('Needs a platform that replays.')
      run.refuses(await run.call(vouchers.issue, input, { key, as }), 403)
    },
  ),
  tokenRead(4, 'malformed-id', 'A malformed id is refused with 404, as an unknown one.', async (run) => {
    run.needsRefusal(await readRedemption(run, UNKNOWN_REDEMPTION), 404)
    run.refuses(await readRedemption(run, 'conform'), 404)
  }),
  probe
    .with({ needs: ['token', 'jwt', 'template'], kind: 'tenant' })
    .partly(4, 'object-of-another-tenant', "Another application's redemption is refused as unknown.", async (run) => {
      const { id } = run.needs((await redeemed(run)).response, 'a redemption')
      const { reading: credential } = await tokensOfRun(run)
      const bodies = []
      for (const redemptionId of [id, UNKNOWN_REDEMPTION]) {
        const response = await run.call(vouchers.redemption, { redemptionId }, { as: { credential } })
        run.needsRefusal(response, 404)
        bodies.push({ ...membersOrNone(response.json), requestId: undefined })
      }
      run.holds(isDeepStrictEqual(bodies[0], bodies[1]), 'the body for an unknown one', bodies[0], 'decided')
    }),
  probe(
    4,
    'redeemed-before-recipient',
    'The verification of a redeemed voucher for another recipient says that it is redeemed.',
    async (run) => {
      const { voucher: one, response } = await redeemed(run)
      run.needs(response, 'a redemption')
      await reasonIsFirst(run, one)
    },
  ),
  probe.with({ needs: ['token'], vouchers: 1 })(
    4,
    'future-before-recipient',
    'The verification of a voucher that is not valid yet, for another recipient, says that it is not valid yet.',
    async (run) => {
      const template_id = await activeTemplate(run, { validity: { type: 'relative', duration_days: 1, delay_days: 1 } })
      await reasonIsFirst(run, await voucher(run, { template_id }))
    },
  ),
  ending(
    4,
    'expired-before-recipient',
    'The verification of an expired voucher for another recipient says that it has expired.',
    async (it) => reasonIsFirst(it, (await ended(it)).unused),
  ),
  ending(4, 'redeemed-before-expired', 'A redeemed voucher that has expired is reported as redeemed.', async (run) => {
    const { voucher: one, response } = await redeemed(run)
    run.needs(response, 'a redemption')
    const { used, unused } = await ended(run)
    const reason = await reasonOf(run, one, one.recipientUserId)
    const expired = await reasonOf(run, unused, unused.recipientUserId)
    if (reason === null || expired === null) run.notApplicable('Needs a redeemed and an expired voucher.')
    run.equals('reason', await reasonOf(run, used, used.recipientUserId), reason)
  }),
]
