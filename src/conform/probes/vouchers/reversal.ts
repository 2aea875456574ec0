import { contract } from '../../../contract/index.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import { ended, issued, newRedemption, reverse as reverseCall, reversal as reversed, timeOf, verify } from './shared.js'

const { redeem, redemption, reverse } = contract.vouchers
const needs: readonly Need[] = ['token', 'template']
const probe = probesOf('reversal', { needs, specified: ['reverse'] })

export const reversal = [
  probe('reverse', 'A redemption can be reversed.', async (it) => {
    it.succeeds((await reversed(it)).response)
  }),
  probe('once', 'A second reversal is 409 REDEMPTION_ALREADY_REVERSED.', async (it) => {
    const { response, redemption: first } = await reversed(it)
    it.needs(response, 'a reversal')
    it.refuses(await reverseCall(it, first.id), 409, 'REDEMPTION_ALREADY_REVERSED')
  }),
  probe('issued', 'After a reversal the voucher is issued.', async (it) => {
    const { response, voucher } = await reversed(it)
    it.needs(response, 'a reversal')
    const { voucher: unused } = it.needs(await verify(it, await issued(it)), 'a verification')
    if (unused.status !== 'issued') it.notApplicable('Needs the state issued of a voucher that nobody redeemed.')
    it.equals('status of the voucher', it.needs(await verify(it, voucher), 'a verification').voucher.status, 'issued')
  }),
  probe(
    'expired',
    'After a reversal behind its validUntil the voucher reads as expired.',
    { needs: ['token'], waitsMs: 3_000 },
    async (it) => {
      const { used, redemption: first, ends_at, verified } = await ended(it)
      const { voucher: unused } = it.needs(verified, 'a verification')
      if (unused.status !== 'expired') it.notApplicable('Needs the state expired of a voucher that nobody redeemed.')
      it.needs(await reverseCall(it, first.id), 'a reversal')
      const { voucher, checkedAt } = it.needs(await verify(it, used), 'a verification')
      if (timeOf(it, checkedAt) < Date.parse(ends_at)) it.notApplicable('Needs a clock that goes on.')
      it.equals('status of the voucher', voucher.status, 'expired')
    },
  ),
  probe(
    'metadata',
    'The metadata of a reversal is merged into that of the redemption and replaces equal keys.',
    { vouchers: 1 },
    async (it) => {
      const { redemption: first } = await newRedemption(it, { metadata: { a: '1', b: '1' } })
      const metadata = { b: '2', c: '2' }
      const observed = it.succeeds(await it.call(reverse, { redemptionId: first.id, metadata })).metadata
      it.equals('metadata', observed, { a: '1', b: '2', c: '2' })
    },
  ),
  probe('no-body', 'Reversals without a body and with {} are the same request.', { vouchers: 1 }, async (it) => {
    const { redemption: first } = await newRedemption(it)
    const path = `/api/v1/open-platform/vouchers/redemptions/${encodeURIComponent(first.id)}/reverse`
    const headers = { accept: 'application/json', 'idempotency-key': it.resources.name() }
    const request = { method: 'POST', path, as: 'token' } as const
    it.needs(await it.send({ ...request, headers }), 'a reversal without a body')
    const withType = { ...headers, 'content-type': 'application/json' }
    it.succeeds(await it.send({ ...request, headers: withType, body: '{}' }))
  }),
  probe(
    'later-redemption',
    'A reversal of an old redemption does not touch a later one of the voucher.',
    { vouchers: 1 },
    async (it) => {
      const { input, redemption: old } = await newRedemption(it)
      it.needs(await reverseCall(it, old.id), 'a reversal')
      const later = it.needs(await it.call(redeem, input), 'a second redemption after a reversal')
      const read = async () => it.needs(await it.call(redemption, { redemptionId: later.id }), 'a redemption')
      const before = await read()
      await reverseCall(it, old.id)
      it.equals('later redemption', await read(), before)
    },
  ),
]
