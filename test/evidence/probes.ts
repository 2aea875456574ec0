import { bots, botsInReview } from '../support/conform/deviants/bots.js'
import { callers, callersInReview, tenants } from '../support/conform/deviants/callers.js'
import { callDeviants } from '../support/conform/deviants/calls.js'
import { encryption } from '../support/conform/deviants/encryption.js'
import { moneyFaults } from '../support/conform/deviants/faults.js'
import { decisions } from '../support/conform/deviants/other-decisions.js'
import { vouchers } from '../support/conform/deviants/vouchers.js'
import { relayed, webhooks } from '../support/conform/deviants/webhooks.js'
import { probesByRule } from '../support/conform/probes-by-rule.js'

const inGroups = [bots, botsInReview, callers, callersInReview, tenants, callDeviants, encryption, vouchers, webhooks]

/** Ids of the probes that a deviant server makes fail; an entry of a table may have several. */
const failing = new Set(
  [...inGroups.flat(), ...decisions, ...relayed]
    .map(([id]) => id)
    .concat(moneyFaults.map(([, id]) => id))
    .flatMap((ids) => ids.split(' ')),
)

/** Probes that `npm test` runs, by the id of their rule; `hasDeviant` if a deviant server makes one of them fail. */
export const probes = [...probesByRule()].map(([rule, ids]) => ({
  rule,
  ids,
  hasDeviant: ids.some((it) => failing.has(it)),
}))
