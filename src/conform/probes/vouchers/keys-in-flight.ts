import { contract } from '../../../contract/index.js'
import { credentialOf, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import { issueCall, issued, redeemCall, redeemed } from './shared.js'

const { redeem } = contract.vouchers
const CALLS = 5

export const keysInFlight = [
  probesOf('keys-in-flight', { needs: ['token', 'template'] })(
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
  probesOf('replays', { needs: ['token', 'template'] })(
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
