import { join } from 'node:path'
import { contract } from '../../../src/contract/index.js'
import type { ApiResponse } from '../../support/server/client.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'
import type { Campaign, Run } from '../campaign.js'
import { breachesIn } from '../invariants.js'
import { startServer } from '../server.js'
import { readStored } from '../stored.js'

const times = <T>(count: number, call: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index)))

/** Text with the number of responses by failure code, and of 2xx responses as `ok`. */
function tally(responses: readonly ApiResponse[]): string {
  const counts = new Map<string, number>()
  for (const { code } of responses) counts.set(code ?? 'ok', (counts.get(code ?? 'ok') ?? 0) + 1)
  return [...counts]
    .map(([code, count]) => `${count} ${code}`)
    .sort()
    .join(', ')
}

export const races: Campaign = {
  row: 'R2',
  name: '100 redeems with 100 keys and with one, 1,000 issues against a quota of 100',
  tags: ['idempotency-keys/1', 'issue/1', 'keys-in-flight/1', 'redemptions/1'],
  requirement:
    '100 concurrent redeems of a voucher succeed once, by one key or 100 keys. 1,000 issues with a quota of 100 make 100 vouchers.',
  states: [
    'a redeem was refused as already redeemed',
    'a QR token and a redeem code competed for a voucher',
    'a concurrent call with the same key was a replay',
    'the quota of a template was exhausted',
  ],

  async run({ quick, random, folder, root, sometimes }: Run) {
    const dataDir = join(folder, 'data')
    const server = await startServer(root, dataDir)
    const tenant = await newTenant(server)
    const template = await tenant.template({ issue_limit: 10_000 })
    const broken: string[] = []
    const expect = (what: string, is: string, should: string) => {
      if (is !== should) broken.push(`${what}: ${is}, not ${should}`)
    }
    const rounds = quick ? 2 : 20
    for (let round = 0; round < rounds; round++) {
      const many = await tenant.issue(template.id)
      const types = new Set<string>()
      const redeemed = await times(100, (index) => {
        const credential = codeOf(many, random.pick(['redeem_code', 'qr_token'] as const))
        types.add(credential.type)
        return tenant.runtime(contract.vouchers.redeem, { credential }, { key: `many-${round}-${index}` })
      })
      expect('100 keys', tally(redeemed), '1 ok, 99 VOUCHER_ALREADY_REDEEMED')
      const refused = redeemed.filter((it) => it.code === 'VOUCHER_ALREADY_REDEEMED').length
      sometimes.note('a redeem was refused as already redeemed', refused)
      if (types.size > 1) sometimes.note('a QR token and a redeem code competed for a voucher', refused)
      const winner = redeemed.find((it) => it.code === null)?.data.id
      const named = new Set(redeemed.filter((it) => it.code !== null).map((it) => it.details.redemption_id))
      expect('the redemption that the refusals name', [...named].join(), String(winner))

      const one = await tenant.issue(template.id)
      const same = await times(100, () =>
        tenant.runtime(contract.vouchers.redeem, { credential: codeOf(one) }, { key: `one-${round}` }),
      )
      expect('one key', tally(same), '100 ok')
      expect('different responses to one key', String(new Set(same.map((it) => it.sameness)).size), '1')
      const firsts = same.filter((it) => it.headers['idempotent-replayed'] === undefined)
      expect('responses to one key that are not marked replayed', String(firsts.length), '1')

      sometimes.note('a concurrent call with the same key was a replay', same.length - firsts.length)

      const { id } = await tenant.template({ issue_limit: 100 })
      const issued = await times(1_000, (index) => {
        const input = { template_id: id, external_issue_id: `q-${index}`, recipient_user_id: 'user' }
        return tenant.runtime(contract.vouchers.issue, input, { key: `q-${round}-${index}` })
      })
      const exhausted = issued.filter((it) => it.code === 'TEMPLATE_QUOTA_EXHAUSTED').length
      sometimes.note('the quota of a template was exhausted', exhausted)
      expect('quota of 100', tally(issued), '100 ok, 900 TEMPLATE_QUOTA_EXHAUSTED')
      const listed = (await tenant.runtime(contract.templates.list, { limit: 1 })).data.items[0]
      expect('issuedCount', String(listed?.issuedCount), '100')
    }
    await server.stop()
    broken.push(...breachesIn(readStored(dataDir, folder)))
    return { facts: { rounds, calls: rounds * 1_200 }, broken }
  },
}
