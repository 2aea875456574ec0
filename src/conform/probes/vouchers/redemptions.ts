import { contract } from '../../../contract/index.js'
import { credentialOf, voucher } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { issueCall, issued, keep, redeemCall, redeemed, reversal, verify } from './shared.js'

const { redeem, redemption } = contract.vouchers
const needs: readonly Need[] = ['token', 'template']
const probe = probesOf('redemptions', { needs })

const read = async (it: ProbeContext, redemptionId: string) =>
  it.needs(await it.call(redemption, { redemptionId }), 'a redemption')

/** Second redemption of the redeemed voucher. */
const second = (it: ProbeContext) =>
  keep(it, 'second redemption', async () => {
    const first = await redeemed(it)
    const { input } = await redeemCall(it)
    return { first, response: await it.call(redeem, input) }
  })

export const redemptions = [
  probe('optional-members', 'Redeem takes recipient_user_id, reference and metadata.', { vouchers: 1 }, async (it) => {
    const one = await voucher(it)
    const credential = credentialOf(it, one)
    const optional = { reference: it.resources.name(), metadata: { origin: 'conform' } }
    it.succeeds(await it.call(redeem, { credential, recipient_user_id: one.recipientUserId, ...optional }))
  }),
  probe(
    'other-recipient',
    'A redemption for another recipient is 409 RECIPIENT_MISMATCH.',
    { vouchers: 1 },
    async (it) => {
      const credential = credentialOf(it, await voucher(it))
      const response = await it.call(redeem, { credential, recipient_user_id: it.resources.name() })
      it.refuses(response, 409, 'RECIPIENT_MISMATCH')
    },
  ),
  probe('second', 'A second redemption is 409 VOUCHER_ALREADY_REDEEMED.', async (it) => {
    it.refuses((await second(it)).response, 409, 'VOUCHER_ALREADY_REDEEMED')
  }),
  probe('details-of-the-second', 'A second redemption names id and time of the first.', async (it) => {
    const { first, response } = await second(it)
    if (response.status !== 409) it.notApplicable('Needs 409 for a second redemption.')
    const values = Object.values(response.details)
    const isComplete = values.includes(first.id) && values.includes(first.redeemedAt)
    it.holds(isComplete, `details with ${first.id} and ${first.redeemedAt}`, response.details)
  }),
  probe('succeeded', 'A redemption reads as succeeded.', async (it) => {
    const { data, status } = (await redeemCall(it)).response
    if (status > 299) it.notApplicable('Needs a redemption.')
    it.equals('status', (await read(it, data.id)).status, 'succeeded')
  }),
  probe('reversed', 'A reversed redemption reads as reversed.', async (it) => {
    const { response, redemption: first } = await reversal(it)
    if (response.status > 299) it.notApplicable('Needs a reversal.')
    it.equals('status', (await read(it, first.id)).status, 'reversed')
  }),
  probe('state-of-the-voucher', 'A redemption has the state of its voucher.', async (it) => {
    const { id } = await redeemed(it)
    const { voucher: one } = it.needs(await verify(it, (await redeemCall(it)).voucher), 'a verification')
    it.equals('voucher.status', (await read(it, id)).voucher.status, one.status)
  }),
]

const CALLS = 5

export const keysInFlight = [
  probesOf('keys-in-flight', { needs })(
    'replay',
    'Concurrent redemptions under one key all return the one redemption.',
    { vouchers: 1 },
    async (it) => {
      const credential = credentialOf(it, await voucher(it))
      const key = it.resources.name()
      const calls = Array.from({ length: CALLS }, () => it.call(redeem, { credential }, { key }))
      const ids = (await Promise.all(calls)).map((response) => it.succeeds(response).id)
      it.equals('different redemptions', new Set(ids).size, 1)
    },
  ),
  probesOf('replays', { needs })(
    'not-the-first-call',
    'The response to a first call has no Idempotent-Replayed: true.',
    async (it) => {
      await issued(it)
      await redeemed(it)
      const responses = [(await issueCall(it)).response, (await redeemCall(it)).response]
      it.equals('replays among first calls', responses.filter(({ isReplay }) => isReplay).length, 0)
    },
  ),
]
