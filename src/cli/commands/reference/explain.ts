import { didYouMean } from '../../../values/closest.js'
import { leaf } from '../../command/leaf.js'
import { type Explanation, explainedCodes, explanationOf } from '../../failures/codes.js'
import { usage } from '../../failures/failure.js'
import { explanationText } from '../../output/failure-text.js'

export const explain = leaf({
  name: 'explain',
  summary: 'What a failure code means, what causes it and what to do',
  notes: ['The code stands in parentheses after an error, and as `code` in its JSON.'],
  positional: { name: 'CODE', summary: 'The code, in any case', ask: 'Failure code', choices: explainedCodes },
  examples: ['voucherctl explain VOUCHER_ALREADY_REDEEMED', 'voucherctl explain BASE_URL_REQUIRED --json'],
  view: { body: (it: Explanation) => explanationText(it) },
  run: async ({ host }, { positional }) => {
    const found = explanationOf(positional, host.env)
    if (found !== undefined) return { ok: true, data: found }
    const hint = didYouMean(positional.toUpperCase(), explainedCodes, 'All codes: `voucherctl help exit-codes`.')
    return usage(`There is no failure code '${positional}'.`, hint)
  },
})
