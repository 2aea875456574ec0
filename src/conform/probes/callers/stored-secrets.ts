import { contract } from '../../../contract/index.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'

const probe = probesOf('stored-secrets', { needs: ['token'] })
const { templates, vouchers, webhook } = contract

const TOKEN = 'sop_ConformConformConformConformConform012345'
const CODE = '7Q2M-conform-secret'

/** Requires that a refusal does not repeat what was sent. */
function hides(it: ProbeContext, { fault, text, headers }: Observed, secret: string): void {
  if (fault === undefined) it.notApplicable('Needs a refusal.')
  const isHidden = ![text, JSON.stringify(headers)].some((part) => part.includes(secret))
  it.holds(isHidden, 'a refusal without the secret', text)
}

export const storedSecrets = [
  probe(
    'refused-token',
    'The refusal of an unknown token does not contain the token.',
    { needs: [], reads: true },
    async (it) => hides(it, await it.call(templates.list, {}, { as: { credential: TOKEN } }), TOKEN),
  ),
  probe(
    'refused-code',
    'The refusal of a malformed credential does not contain its value.',
    { reads: true },
    async (it) => {
      const credential = { type: 'redeem_code', value: CODE }
      hides(it, await it.call(vouchers.verify, { credential }), CODE)
    },
  ),
  probe(
    'refused-webhook-secret',
    'The refusal of a webhook does not contain its secret.',
    { needs: ['bot'] },
    async (it) => {
      const secret = 'conform secret with spaces'
      const input = { url: 'https://conform.invalid/hook', secret_token: secret }
      const response = await it.call(webhook.setByBot, input)
      if (response.isSuccess) await it.call(webhook.delete, { botId: it.resources.offer.botId ?? '' })
      hides(it, response, secret)
    },
  ),
]
