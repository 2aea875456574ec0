import type { Endpoint } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { credentialOf, issueInput, voucher } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { issueCall, issued, keep, redeemCall, redeemed, reversal, successesOf, verify } from './shared.js'

const { issue, redeem, redemption, reverse } = contract.vouchers
const needs: readonly Need[] = ['token', 'template']
const probe = probesOf('redemptions', { kind: 'money', needs })
const issuing = probe.with({ vouchers: 1 })

const read = async (run: ProbeContext, redemptionId: string) =>
  run.needs(await run.call(redemption, { redemptionId }), 'a redemption')

export const secondRedemption = (run: ProbeContext) =>
  keep(run, 'second redemption', async () => {
    const first = await redeemed(run)
    const { input } = await redeemCall(run)
    return { first, response: await run.call(redeem, input) }
  })

export const redemptions = [
  issuing(2, 'optional-members', 'Redeem takes recipient_user_id, reference and metadata.', async (run) => {
    const one = await voucher(run)
    const credential = credentialOf(run, one)
    const optional = { reference: run.resources.name(), metadata: { origin: 'conform' } }
    run.succeeds(await run.call(redeem, { credential, recipient_user_id: one.recipientUserId, ...optional }))
  }),
  issuing(2, 'other-recipient', 'A redemption for another recipient is 409 RECIPIENT_MISMATCH.', async (run) => {
    const credential = credentialOf(run, await voucher(run))
    const response = await run.call(redeem, { credential, recipient_user_id: run.resources.name() })
    run.refuses(response, 409, 'RECIPIENT_MISMATCH')
  }),
  probe.specified(1, 'second', 'A second redemption is refused with 409.', async (run) => {
    run.refuses((await secondRedemption(run)).response, 409)
  }),
  probe.specified(1, 'second-by-qr_token', 'A second redemption, by QR token, is refused with 409.', async (run) => {
    await redeemed(run)
    const credential = credentialOf(run, (await redeemCall(run)).voucher, 'qr_token')
    run.refuses(await run.call(redeem, { credential }), 409)
  }),
  issuing.specified(
    1,
    'at-once',
    'Of concurrent redemptions by code and QR token under different keys one succeeds.',
    async (run) => {
      const one = await voucher(run)
      const input = (n: number) => ({ credential: credentialOf(run, one, n % 2 === 0 ? 'redeem_code' : 'qr_token') })
      run.equals('redemptions', await successesOf((n) => run.call(redeem, input(n))), 1)
    },
  ),
  probe(2, 'details-of-the-second', 'A second redemption names id and time of the first.', async (run) => {
    const { first, response } = await secondRedemption(run)
    run.refuses(response, 409)
    const values = Object.values(response.details)
    const isComplete = values.includes(first.id) && values.includes(first.redeemedAt)
    run.holds(isComplete, `details with ${first.id} and ${first.redeemedAt}`, response.details)
  }),
  probe.specified(1, 'read', 'A redemption can be read.', async (run) => {
    const { id } = await redeemed(run)
    run.equals('id', run.succeeds(await run.call(redemption, { redemptionId: id })).id, id)
  }),
  probe(2, 'succeeded', 'A redemption reads as succeeded.', async (run) => {
    const { data, status } = (await redeemCall(run)).response
    if (status > 299) run.notApplicable('Needs a redemption.')
    run.equals('status', (await read(run, data.id)).status, 'succeeded')
  }),
  probe(2, 'reversed', 'A reversed redemption reads as reversed.', async (run) => {
    const { response, redemption: first } = await reversal(run)
    if (response.status > 299) run.notApplicable('Needs a reversal.')
    run.equals('status', (await read(run, first.id)).status, 'reversed')
  }),
  probe(2, 'state-of-the-voucher', 'A redemption has the state of its voucher.', async (run) => {
    const { id } = await redeemed(run)
    const { voucher: one } = run.needs(await verify(run, (await redeemCall(run)).voucher), 'a verification')
    run.equals('voucher.status', (await read(run, id)).voucher.status, one.status)
  }),
]

const CALLS = 5
const inFlight = probesOf('keys-in-flight', { kind: 'money', needs, vouchers: 1 })

/** Sends a call several times concurrently under one key. */
const concurrently = <E extends Endpoint>(run: ProbeContext, endpoint: E, input: Readonly<Record<string, unknown>>) =>
  run.resources.once(`in flight: ${endpoint.path}`, () => {
    const key = run.resources.name()
    return Promise.all(Array.from({ length: CALLS }, () => run.call(endpoint, input, { key })))
  })

const firstOf = <Data>(run: ProbeContext, responses: readonly Observed<Data>[]): Data =>
  responses.find(({ isSuccess }) => isSuccess)?.data ?? run.notApplicable('Needs a concurrent call that succeeds.')

const issues = async (run: ProbeContext) =>
  concurrently(run, issue, await run.resources.once('issue in flight', () => issueInput(run)))
const redeems = async (run: ProbeContext) =>
  concurrently(run, redeem, { credential: credentialOf(run, firstOf(run, await issues(run))) })
const reversals = async (run: ProbeContext) =>
  concurrently(run, reverse, { redemptionId: firstOf(run, await redeems(run)).id })

/** Defines a probe that concurrent calls under one key have one effect and equal data. */
const areOne = (name: string, what: string, calls: (run: ProbeContext) => Promise<readonly Observed[]>) =>
  inFlight(1, name, `Concurrent ${what}s under one key all return the one ${what}.`, async (run) => {
    const [first, ...others] = (await calls(run)).map((it) => run.succeeds(it))
    for (const it of others) run.equals('data of a concurrent call', it, first)
  })

export const keysInFlight = [
  areOne('issue', 'issue', issues),
  areOne('replay', 'redemption', redeems),
  areOne('reversal', 'reversal', reversals),
  probesOf('replays', { kind: 'money', needs })(
    1,
    'not-the-first-call',
    'The response to a first call has no Idempotent-Replayed: true.',
    async (run) => {
      await issued(run)
      await redeemed(run)
      const responses = [(await issueCall(run)).response, (await redeemCall(run)).response]
      run.equals('replays among first calls', responses.filter(({ isReplay }) => isReplay).length, 0)
    },
  ),
]
