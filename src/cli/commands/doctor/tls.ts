import { isIP } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import { type BaseUrl, parseBaseUrl } from '../../../client/base-url.js'
import { certificateFault } from '../../../client/certificate.js'
import { codeOf } from '../../../files/error-code.js'
import type { SecureMode } from '../../../secure/client/options.js'
import { UNITS_MS } from '../../../values/duration.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import { proxyOf } from '../../command/transport.js'
import type { Host } from '../../host/host.js'
import { numberText } from '../../output/text.js'
import { bad, type Finding, ok, skip, warn } from './check.js'

const RENEW_DAYS = 21

interface TlsOptions {
  readonly baseUrl: string
  readonly mode: SecureMode
  readonly timeoutMs: number
  /** Additional trusted certificates, besides Node's own. */
  readonly ca?: ConnectionOptions['ca']
}

/** Checks that another machine is called over https with a trusted certificate that does not expire soon. */
export async function checkTls({ env, now }: Pick<Host, 'env' | 'now'>, options: TlsOptions): Promise<Finding> {
  const base = parseBaseUrl(options.baseUrl)
  if (!base.secure) {
    if (isLoopbackHost(base.hostname)) return ok('Not needed: the server is on this machine.')
    const message = 'The base URL is http: everybody on the way can read tokens and codes.'
    const fix = 'Use https; where that is impossible, --secure required.'
    return options.mode === 'required'
      ? warn(message.replace('tokens and codes', 'what is not encrypted'), fix)
      : bad(message, fix)
  }
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    return bad(
      'NODE_TLS_REJECT_UNAUTHORIZED=0: any certificate is taken.',
      'Unset it; name private certificates in NODE_EXTRA_CA_CERTS.',
    )
  const found = await proxyOf({ env }, options.baseUrl)
  if (!found.ok || found.proxy !== undefined) return skip('Not looked at: calls go through a proxy.')
  const seen = await handshake(base.hostname, base.port, options)
  if ('code' in seen) return skip(`No TLS connection (${seen.code}).`)
  const days = Math.floor((Date.parse(seen.validTo) - now()) / UNITS_MS.d)
  if (seen.refusal !== undefined) {
    const fault = certificateFault(seen.refusal) ?? 'is not trusted'
    return bad(`The certificate ${fault} (${seen.refusal}).`, cureOf(seen.refusal, base))
  }
  if (days < 0) return bad('The certificate has expired by the clock of this machine.', 'Renew it, or set the clock.')
  const message = `The certificate is trusted, for ${numberText(days)} more days.`
  return days < RENEW_DAYS ? warn(message, 'Renew the certificate of the server.') : ok(message)
}

function cureOf(refusal: string, { origin, port }: BaseUrl): string {
  if (refusal.startsWith('CERT_')) return 'Renew the certificate of the server, or set the clock of this machine.'
  // The host name of a URL has the brackets that openssl requires for IPv6.
  const read = `openssl s_client -showcerts -connect ${new URL(origin).hostname}:${port} </dev/null`
  if (refusal === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `Use a name of the certificate in the base URL: \`${read} | openssl x509 -noout -ext subjectAltName\`.`
  // Node trusts no certificate below an authority that the file lacks, and this server does not send its authority.
  const source = refusal.startsWith('UNABLE_TO_')
    ? 'Ask the operator for the certificate of its authority, and save it as server.pem.'
    : `If you trust it, save it: \`${read} | sed -n '/BEGIN/,/END/p' >server.pem\`.`
  return `${source} Then name it before each start: \`export NODE_EXTRA_CA_CERTS="$PWD/server.pem"\`.`
}

type HandshakeResult = { readonly validTo: string; readonly refusal: string | undefined } | { readonly code: string }

/** Connects with TLS to read the certificate, and sends no request. */
function handshake(host: string, port: number, { timeoutMs, ca }: TlsOptions): Promise<HandshakeResult> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
      // Accept any certificate in order to inspect it; no request follows.
      rejectUnauthorized: false,
    })
    const end = (result: HandshakeResult) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(result)
    }
    const timer = setTimeout(() => end({ code: 'no response' }), timeoutMs)
    socket.on('error', (error) => end({ code: codeOf(error) }))
    socket.on('secureConnect', () => {
      // A code, although its type says Error.
      const refusal: unknown = socket.authorizationError
      const code = refusal instanceof Error ? codeOf(refusal) : (refusal as string | null)
      end({ validTo: socket.getPeerCertificate().valid_to, refusal: code ?? undefined })
    })
  })
}
