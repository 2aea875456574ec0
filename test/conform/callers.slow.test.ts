import { callers, callersInReview } from '../support/conform/deviants/callers.js'
import { testDeviants } from '../support/conform/test-deviants.js'

testDeviants(['callers'], callers)
testDeviants([], callersInReview, { autoApprove: false })
