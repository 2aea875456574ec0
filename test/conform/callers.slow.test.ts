import { callers, callersInReview } from '../support/deviants/callers.js'
import { testDeviants } from '../support/test-deviants.js'

testDeviants(['callers'], callers)
testDeviants([], callersInReview, { autoApprove: false })
