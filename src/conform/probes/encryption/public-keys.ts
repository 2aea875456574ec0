import { decodePublicKey } from '../../../secure/public-key.js'
import { encodeBase64url } from '../../../values/base64url.js'
import { probesOf } from '../../probe.js'
import { membersOrNone } from '../../wire.js'
import { callSession, newKeyPair, readsBootstrap, session } from './session.js'

const probe = probesOf('public-keys', { needs: ['secure'], partly: ['server-key'] })

/** Changes a valid uncompressed point of 65 bytes. */
const changed = (change: (point: Buffer) => Uint8Array) => () =>
  encodeBase64url(change(Buffer.from(newKeyPair().publicKey)))

const withFirst = (first: (sign: number) => number) => (point: Buffer) => {
  point[0] = first((point[64] ?? 0) & 1)
  return point
}

/** The last of 87 characters has two unused bits: setting one gives another text of the same bytes. */
function withUnusedBit(): string {
  const text = encodeBase64url(newKeyPair().publicKey)
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) ?? '') + 1]
}

const refused: readonly (readonly [name: string, what: string, key: () => string])[] = [
  ['compressed', 'in the compressed form', changed((point) => withFirst((sign) => 2 + sign)(point).subarray(0, 33))],
  ['hybrid', 'in the hybrid form', changed(withFirst((sign) => 6 + sign))],
  [
    'off-the-curve',
    'that is not on the curve',
    changed((point) => {
      point[64] = (point[64] ?? 0) ^ 1
      return point
    }),
  ],
  ['padded', 'in padded base64url', () => `${encodeBase64url(newKeyPair().publicKey)}=`],
  ['not-canonical', 'in base64url that is not canonical', withUnusedBit],
]

export const publicKeys = [
  probe(
    'server-key',
    'serverPublicKey is an uncompressed point of P-256, in canonical base64url.',
    { reads: true },
    async (it) => {
      const { serverPublicKey } = membersOrNone((await readsBootstrap(it)).json)
      const isPoint = typeof serverPublicKey === 'string' && decodePublicKey(serverPublicKey) !== undefined
      it.holds(isPoint, 'a point of 65 bytes in 87 characters', serverPublicKey)
    },
  ),
  ...refused.map(([name, what, key]) =>
    probe(name, `A client key ${what} is refused.`, async (it) => {
      await session(it)
      const { status } = await callSession(it, { clientPublicKey: key() })
      it.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
    }),
  ),
]
