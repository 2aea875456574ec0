import { canonicalJson } from '../domain/idempotency.js'
import type { Sent } from './record.js'

/** Identity of a call: endpoint, path and body. An import that continues with its next row repeats nothing. */
export const callKey = ({ endpoint, path, body }: Pick<Sent, 'endpoint' | 'path' | 'body'>) =>
  `${endpoint} ${path} ${canonicalJson(body)}`
