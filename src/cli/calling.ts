/** What a call is made with, in one chunk of the bundle: loaded by the commands that make one. */
export { createCall } from '../client/call.js'
export { createHttpTransport } from '../client/http.js'
export { withRetry } from '../client/retry.js'
