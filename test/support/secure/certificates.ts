import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

/** A generated X.509 v3 certificate with its private key: ECDSA on P-256, valid for one more hour. */
export interface Certificate {
  /** Certificate in PEM format. */
  readonly cert: string
  /** Private key in PEM format. */
  readonly key: string
}

export interface Authority extends Certificate {
  /** Issues a server certificate for these DNS names or IPv4 addresses. */
  issue(names: readonly string[]): Certificate
}

const HOUR_MS = 3_600_000

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts)
const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const bits = (content: Uint8Array) => der(0x03, Buffer.of(0), content)
const TRUE = der(0x01, Buffer.of(0xff))

const COMMON_NAME = identifier('550403')
const BASIC_CONSTRAINTS = identifier('551d13')
const SUBJECT_ALT_NAME = identifier('551d11')
const ECDSA_WITH_SHA256 = sequence(identifier('2a8648ce3d040302'))

const nameOf = (text: string) => sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(text)))))
const timeOf = (ms: number) => der(0x18, Buffer.from(`${new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+Z/g, '')}Z`))

function certify(subject: string, publicKey: KeyObject, extensions: Buffer, issuer: string, key: KeyObject): string {
  const now = Date.now()
  const content = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1), randomBytes(8)),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(timeOf(now - HOUR_MS), timeOf(now + HOUR_MS)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extensions)),
  )
  const whole = sequence(content, ECDSA_WITH_SHA256, bits(sign('sha256', content, key)))
  const lines = whole.toString('base64').replaceAll(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pemOf = (key: KeyObject) => String(key.export({ type: 'pkcs8', format: 'pem' }))

export function newAuthority(name: string): Authority {
  const { publicKey, privateKey } = newKey()
  const isAuthority = sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE)))
  return {
    cert: certify(name, publicKey, isAuthority, name, privateKey),
    key: pemOf(privateKey),
    issue(names) {
      const own = newKey()
      const alternatives = names.map((name) =>
        isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name)),
      )
      const extension = sequence(SUBJECT_ALT_NAME, der(0x04, sequence(...alternatives)))
      return {
        cert: certify(names[0] ?? 'nobody', own.publicKey, extension, name, privateKey),
        key: pemOf(own.privateKey),
      }
    },
  }
}
