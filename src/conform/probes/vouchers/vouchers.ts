import { contract } from '../../../contract/index.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { delivered, ended, issued, redeemCall, redeemed, timeOf, verify } from './shared.js'

const probe = probesOf('vouchers', { needs: ['token', 'template'] })
const { list } = contract.templates

/** The record of the voucher that no probe redeems. */
const record = async (it: ProbeContext) => it.needs(await verify(it, await issued(it)), 'a verification').voucher

/** The record of the redeemed voucher. */
async function redeemedRecord(it: ProbeContext) {
  await redeemed(it)
  return it.needs(await verify(it, (await redeemCall(it)).voucher), 'a verification').voucher
}

export const voucherRecords = [
  probe('issued', 'A voucher that can be redeemed is issued.', async (it) => {
    it.equals('status', (await record(it)).status, 'issued')
  }),
  probe('redeemed', 'A redeemed voucher is redeemed.', async (it) => {
    it.equals('status', (await redeemedRecord(it)).status, 'redeemed')
  }),
  probe(
    'expired',
    'An issued voucher reads as expired after its validUntil.',
    { needs: ['token'], waitsMs: 3_000 },
    async (it) => {
      const { verified } = await ended(it)
      it.equals('status', it.needs(verified, 'a verification').voucher.status, 'expired')
    },
  ),
  probe(
    'redeemed-does-not-expire',
    'A redeemed voucher reads as redeemed after its validUntil.',
    { needs: ['token'], waitsMs: 3_000 },
    async (it) => {
      const { used, ends_at } = await ended(it)
      const { voucher, checkedAt } = it.needs(await verify(it, used), 'a verification')
      if (timeOf(it, checkedAt) < Date.parse(ends_at)) it.notApplicable('Needs a clock that goes on.')
      it.equals('status', voucher.status, 'redeemed')
    },
  ),
  probe('redeemable', 'A record says that an issued voucher is redeemable.', async (it) => {
    it.equals('redeemable', (await record(it)).redeemable, true)
  }),
  probe('not-redeemable', 'A record says that a redeemed voucher is not.', async (it) => {
    it.equals('redeemable', (await redeemedRecord(it)).redeemable, false)
  }),
  probe('channel-direct', 'The channel of a direct issue is direct.', async (it) => {
    it.equals('channel', (await issued(it)).channel, 'direct')
  }),
  probe(
    'channel-bot',
    'The channel of an issue by a bot is bot.',
    { needs: ['bot', 'chat', 'template'] },
    async (it) => {
      it.equals('channel', (await delivered(it)).channel, 'bot')
    },
  ),
  probe('template-members', 'A record has the fields of its template.', async (it) => {
    const voucher = await issued(it)
    const filter = { external_template_id: voucher.externalTemplateId }
    const { items } = it.needs(await it.call(list, filter), 'a list of templates')
    const template = items.find(({ id }) => id === voucher.templateId) ?? it.notApplicable('Needs the template.')
    const { type, name, issuerName, fulfillerName, fulfillmentCategory } = voucher
    it.equals(
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
