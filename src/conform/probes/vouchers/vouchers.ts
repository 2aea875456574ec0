import { listed } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { delivered, ended, issued, redeemCall, redeemed, timeOf, verify } from './shared.js'

const probe = probesOf('vouchers', { kind: 'money', needs: ['token', 'template'] })
const waiting = probe.with({ needs: ['token'], waitsMs: 3_000 })
const chatProbe = probe.with({ needs: ['bot', 'chat', 'template'] })

const record = async (it: ProbeContext) => it.needs(await verify(it, await issued(it)), 'a verification').voucher

async function redeemedRecord(run: ProbeContext) {
  await redeemed(run)
  return run.needs(await verify(run, (await redeemCall(run)).voucher), 'a verification').voucher
}

export const voucherRecords = [
  probe(1, 'issued', 'A voucher that can be redeemed is issued.', async (run) => {
    run.equals('status', (await record(run)).status, 'issued')
  }),
  probe(1, 'redeemed', 'A redeemed voucher is redeemed.', async (run) => {
    run.equals('status', (await redeemedRecord(run)).status, 'redeemed')
  }),
  waiting(1, 'expired', 'An issued voucher reads as expired after its validUntil.', async (run) => {
    const { verified } = await ended(run)
    run.equals('status', run.needs(verified, 'a verification').voucher.status, 'expired')
  }),
  waiting(1, 'redeemed-does-not-expire', 'A redeemed voucher reads as redeemed after its validUntil.', async (run) => {
    const { used, ends_at } = await ended(run)
    const { voucher, checkedAt } = run.needs(await verify(run, used), 'a verification')
    if (timeOf(run, checkedAt) < Date.parse(ends_at)) run.notApplicable('Needs a clock that goes on.')
    run.equals('status', voucher.status, 'redeemed')
  }),
  probe(1, 'redeemable', 'A record says that an issued voucher is redeemable.', async (run) => {
    run.equals('redeemable', (await record(run)).redeemable, true)
  }),
  probe(1, 'not-redeemable', 'A record says that a redeemed voucher is not.', async (run) => {
    run.equals('redeemable', (await redeemedRecord(run)).redeemable, false)
  }),
  probe(1, 'channel-direct', 'The channel of a direct issue is direct.', async (run) => {
    run.equals('channel', (await issued(run)).channel, 'direct')
  }),
  chatProbe(1, 'channel-bot', 'The channel of an issue by a bot is bot.', async (run) => {
    run.equals('channel', (await delivered(run)).channel, 'bot')
  }),
  probe(1, 'template-members', 'A record has the fields of its template.', async (run) => {
    const voucher = await issued(run)
    const { templateId: id, externalTemplateId } = voucher
    const template = (await listed(run, { id, externalTemplateId })) ?? run.notApplicable('Needs the template.')
    const { type, name, issuerName, fulfillerName, fulfillmentCategory } = voucher
    run.equals(
      'fields',
      { type, name, issuerName, fulfillerName, fulfillmentCategory },
      {
        type: template.type,
        name: template.name,
        issuerName: template.issuerName,
        fulfillerName: template.fulfillerName,
        fulfillmentCategory: template.fulfillmentCategory,
      },
    )
  }),
]
