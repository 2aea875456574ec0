import type { CallFailure } from '../../../../client/result.js'
import { exitOf, fromCall } from '../../../failure.js'

/**
 * What a failed call says: `row` is about this one alone; `run` would be the answer to every other row too; `away` is
 * no answer, or the answer of a proxy whose server is away; `trouble` is a server that fails while it answers.
 */
type Verdict = 'row' | 'run' | 'away' | 'trouble'

/** Of the template, not of the row. A used-up quota is none of them: vouchers that are there are still answered. */
const ofTheRun: readonly string[] = [
  'TEMPLATE_NOT_ACTIVE',
  'TEMPLATE_VALIDITY_ENDED',
  'SECURE_TRANSPORT_REQUIRED',
  'RATE_LIMITED',
  'CREDENTIAL_UNENCRYPTED',
]
const gatewayStatuses: readonly number[] = [502, 503, 504]

export function verdictOf(failure: CallFailure): Verdict {
  const { code, status, details } = failure
  if (ofTheRun.includes(code)) return 'run'
  // Not a response of a voucher service: it decides nothing about the row, so the run ends.
  if (code === 'INVALID_RESPONSE' && status < 500) return 'run'
  if (code === 'NETWORK_ERROR' || code === 'TIMEOUT' || gatewayStatuses.includes(status)) return 'away'
  // A credential that no header carries; what cannot be encrypted is the row's own size.
  if (code === 'INVALID_INPUT') return details.reason === undefined ? 'run' : 'row'
  const exit = exitOf(fromCall(failure))
  // Not allowed, no such template, not encrypted: every row would fail the same way.
  if (exit === 4 || exit === 5 || exit === 10) return 'run'
  return exit === 9 ? 'trouble' : 'row'
}
