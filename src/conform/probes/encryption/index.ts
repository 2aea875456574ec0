import type { Probe } from '../../probe.js'
import { bootstrapAndSession, encryptedTransport, publicKeys } from './bootstrap.js'
import { dispatchOrder } from './dispatch-order.js'
import { envelopes, replayMarks } from './envelopes.js'
import { innerRequests, innerResponses } from './inner-requests.js'
import { sessionOrigins } from './origins.js'
import { requiredEncryption } from './required.js'

export const encryption: readonly Probe[] = [
  ...encryptedTransport,
  ...bootstrapAndSession,
  ...publicKeys,
  ...envelopes,
  ...dispatchOrder,
  ...innerRequests,
  ...innerResponses,
  ...sessionOrigins,
  ...replayMarks,
  ...requiredEncryption,
]
