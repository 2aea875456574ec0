import { callers, callersInReview, tenants } from '../support/conform/deviants/callers.js'
import { testDeviants } from '../support/conform/test-deviants.js'

testDeviants(['callers'], [...callers, ...tenants])
testDeviants([], callersInReview, { autoApprove: false })
