import type { TransportErrorKind } from './transport.js'

/** What is wrong with a certificate that Node refuses with a code; undefined for another code. */
export const certificateFault = (code: string): string | undefined =>
  /^UNABLE_TO_(?:GET|VERIFY)_|_IN_CHAIN$/.test(code) ? 'has an unknown authority' : faults.get(code)

const faults = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'is self-signed'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another host name'],
  ['CERT_HAS_EXPIRED', 'has expired'],
  ['CERT_NOT_YET_VALID', 'is not valid yet'],
])

/** Kind and message of the error of a connection that did not open. @param code of Node's error */
export function unopened(peer: string, code: string): readonly [TransportErrorKind, string] {
  const fault = certificateFault(code)
  if (fault === undefined) return ['refused', `No connection to ${peer} (${code})`]
  return ['untrusted', `No connection to ${peer}: the certificate ${fault} (${code})`]
}
