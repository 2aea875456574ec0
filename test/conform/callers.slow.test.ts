import { testDeviants } from '../support/deviant-tables.js'
import { callers, callersInReview } from '../support/deviants/callers.js'

testDeviants(['callers'], callers)
testDeviants([], callersInReview, { autoApprove: false })
