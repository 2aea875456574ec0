import { bots, botsInReview } from '../support/conform/deviants/bots.js'
import { testDeviants } from '../support/conform/test-deviants.js'

/** Rules of the group without polling, whose probes wait. */
const rules = [
  'bot-records',
  'bot-states',
  'bot-metrics',
  'chats',
  'messages',
  'lines-of-a-message',
  'updates',
  'update-types',
]

// An account has at most 20 bots, and each run makes one: the many deviants of bot-records have two references.
const first = bots.slice(0, 16)
testDeviants(rules, first)
testDeviants(rules, bots.slice(first.length))
testDeviants([], botsInReview, { autoApprove: false })
