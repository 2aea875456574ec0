import { testDeviants } from '../support/deviant-tables.js'
import { bots, botsInReview } from '../support/deviants/bots.js'

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

testDeviants(rules, bots)
testDeviants([], botsInReview, { autoApprove: false })
