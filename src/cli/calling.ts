/** What a call is made with, in one chunk of the bundle: loaded by the commands that make one. */
export { createCall, sendPrepared } from '../client/call.js'
export { unanswered, unsendable } from '../client/failure.js'
export { createHttpTransport } from '../client/http.js'
export { prepareCall } from '../client/prepare.js'
export { withRetry } from '../client/retry.js'
export { isSecured, refusePlain, secureError, withSecure } from '../client/secure.js'
