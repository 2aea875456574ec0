import { contract } from '../../../contract/index.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import {
  ended,
  issued,
  keep,
  newRedemption,
  reverse as reverseCall,
  reversal as reversed,
  successesOf,
  timeOf,
  verify,
} from './shared.js'

const { redeem, redemption, reverse } = contract.vouchers
const needs: readonly Need[] = ['token', 'template']
const probe = probesOf('reversal', { kind: 'money', needs })
const waiting = probe.with({ needs: ['token'], waitsMs: 3_000 })
const issuing = probe.with({ vouchers: 1 })

export const secondReversal = (run: ProbeContext) =>
  keep(run, 'second reversal', async () => {
    const { response, redemption: first } = await reversed(run)
    run.needs(response, 'a reversal')
    return reverseCall(run, first.id)
  })

export const reversal = [
  probe.specified(1, 'reverse', 'A redemption can be reversed.', async (run) => {
    run.succeeds((await reversed(run)).response)
  }),
  probe.specified(1, 'once', 'A second reversal is refused with 409.', async (run) => {
    run.refuses(await secondReversal(run), 409)
  }),
  issuing.specified(1, 'at-once', 'Of concurrent reversals under different keys one succeeds.', async (run) => {
    const { redemption: first } = await newRedemption(run)
    run.equals('reversals', await successesOf(() => reverseCall(run, first.id)), 1)
  }),
  probe(2, 'issued', 'After a reversal the voucher is issued.', async (run) => {
    const { response, voucher } = await reversed(run)
    run.needs(response, 'a reversal')
    const { voucher: unused } = run.needs(await verify(run, await issued(run)), 'a verification')
    if (unused.status !== 'issued') run.notApplicable('Needs the state issued of a voucher that nobody redeemed.')
    const { status } = run.needs(await verify(run, voucher), 'a verification').voucher
    run.equals('status of the voucher', status, 'issued')
  }),
  waiting(2, 'expired', 'After a reversal behind its validUntil the voucher reads as expired.', async (run) => {
    const { used, redemption: first, ends_at, verified } = await ended(run)
    const { voucher: unused } = run.needs(verified, 'a verification')
    if (unused.status !== 'expired') run.notApplicable('Needs the state expired of a voucher that nobody redeemed.')
    run.needs(await reverseCall(run, first.id), 'a reversal')
    const { voucher, checkedAt } = run.needs(await verify(run, used), 'a verification')
    if (timeOf(run, checkedAt) < Date.parse(ends_at)) run.notApplicable('Needs a clock that goes on.')
    run.equals('status of the voucher', voucher.status, 'expired')
  }),
  issuing(3, 'metadata', "Metadata of a reversal joins the redemption's and replaces equal keys.", async (run) => {
    const { redemption: first } = await newRedemption(run, { metadata: { a: '1', b: '1' } })
    const metadata = { b: '2', c: '2' }
    const observed = run.succeeds(await run.call(reverse, { redemptionId: first.id, metadata })).metadata
    run.equals('metadata', observed, { a: '1', b: '2', c: '2' })
  }),
  issuing(3, 'no-body', 'Reversals without a body and with {} are the same request.', async (run) => {
    const { redemption: first } = await newRedemption(run)
    const path = `/api/v1/open-platform/vouchers/redemptions/${encodeURIComponent(first.id)}/reverse`
    const headers = { accept: 'application/json', 'idempotency-key': run.resources.name() }
    const request = { method: 'POST', path, as: 'token' } as const
    run.needs(await run.send({ ...request, headers }), 'a reversal without a body')
    const withType = { ...headers, 'content-type': 'application/json' }
    run.succeeds(await run.send({ ...request, headers: withType, body: '{}' }))
  }),
  issuing(2, 'later-redemption', 'A reversal of an old redemption does not touch a later one.', async (run) => {
    const { input, redemption: old } = await newRedemption(run)
    run.needs(await reverseCall(run, old.id), 'a reversal')
    const later = run.needs(await run.call(redeem, input), 'a second redemption after a reversal')
    const read = async () => run.needs(await run.call(redemption, { redemptionId: later.id }), 'a redemption')
    const before = await read()
    await reverseCall(run, old.id)
    run.equals('later redemption', await read(), before)
  }),
]
