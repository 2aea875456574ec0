import { createECDH } from 'node:crypto'
import { contract } from '../../../contract/index.js'
import { dispatch as dispatchEndpoint } from '../../../contract/secure.js'
import { decodePublicKey, kidOf } from '../../../secure/public-key.js'
import { PROTOCOL_VERSION, SESSION_LIFETIME_MS, SUITE } from '../../../secure/suite.js'
import { decodeBase64url, encodeBase64url } from '../../../values/base64url.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import {
  anyCall,
  bootstrap,
  callSession,
  dispatch,
  innerOf,
  inside,
  newKeyPair,
  openSession,
  readsBootstrap,
  said,
  sealed,
  session,
  unconfirmedSession,
} from './session.js'

const transport = probesOf('encrypted-transport', { needs: ['secure'], specified: ['suite'] })
const probe = probesOf('bootstrap-and-session', {
  needs: ['secure'],
  specified: ['request-keys', 'response-keys', 'leading-zeros'],
  partly: ['session', 'lifetime', 'salt'],
})

/** Times may differ by this much, because several servers may have slightly different clocks. */
const CLOCKS_MS = 2_000

/** Least time in milliseconds: a number of seconds is smaller for the next 30,000 years. */
const MILLISECONDS_MIN = 1_000_000_000_000

/** Refusals of an envelope that have nothing to do with its keys. */
const otherReasons: readonly string[] = dispatchEndpoint.failures.filter((it) => it !== 'DECRYPTION_FAILED')

const isText = (value: unknown) => typeof value === 'string' && value !== ''

/** Session call of the shared response, on which several probes look. */
const opened = (it: ProbeContext) =>
  it.resources.once('session call', async () => {
    const before = membersOrNone((await readsBootstrap(it)).json).serverTime
    const response = await callSession(it, { clientPublicKey: encodeBase64url(newKeyPair().publicKey) })
    const after = membersOrNone((await readsBootstrap(it)).json).serverTime
    return { response, members: membersOrNone(response.json), before, after }
  })

async function openedMembers(it: ProbeContext) {
  const { response, ...rest } = await opened(it)
  if (response.status !== 200 && response.status !== 201) it.notApplicable(`Needs a session: ${response.status}.`)
  return rest
}

const invalidKey = { clientPublicKey: 'AAAA' }
const newKey = () => ({ clientPublicKey: encodeBase64url(newKeyPair().publicKey) })

const acceptsSession = (it: ProbeContext, { status, code }: Observed) =>
  it.holds(status === 200 || status === 201, 'a session', `status ${status} ${code ?? ''}`)

/** A key pair whose shared secret begins with a zero byte: one of 256 does. */
function leadingZeroPair(serverPublicKey: Uint8Array) {
  const ecdh = createECDH('prime256v1')
  do ecdh.generateKeys()
  while (ecdh.computeSecret(serverPublicKey)[0] !== 0)
  const privateKey = ecdh.getPrivateKey()
  return {
    publicKey: ecdh.getPublicKey(),
    privateKey: Buffer.concat([Buffer.alloc(32 - privateKey.length), privateKey]),
  }
}

async function needsOff(it: ProbeContext): Promise<void> {
  const { enabled } = membersOrNone((await readsBootstrap(it)).json)
  if (enabled !== false) it.notApplicable('Needs a platform whose encrypted transport is off.')
}

export const encryptedTransport = [
  transport(
    'suite',
    `Bootstrap names version ${PROTOCOL_VERSION} and the suite ${SUITE}.`,
    { reads: true },
    async (it) => {
      const { v, suite } = membersOrNone((await readsBootstrap(it)).json)
      it.equals('v and suite', [v, suite], [PROTOCOL_VERSION, SUITE])
    },
  ),
  transport(
    'console-call',
    'A console call can be made through the encrypted transport.',
    { needs: ['secure', 'jwt'] },
    async (it) => {
      const { path } = contract.apps.list
      const headers = { accept: 'application/json', authorization: `Bearer ${it.resources.credential('jwt')}` }
      it.needs(await it.call(contract.apps.list, {}), 'a list of applications')
      const inner = await inside(it, { method: 'GET', path, query: {}, headers, body: null })
      it.holds(inner.body.success === true, 'an inner success', said(inner))
    },
  ),
  transport(
    'session-while-off',
    'While the transport is off, a session call is refused with 403.',
    { needs: [] },
    async (it) => {
      await needsOff(it)
      it.refuses(await callSession(it), 403, 'SECURE_TRANSPORT_DISABLED')
    },
  ),
  transport(
    'dispatch-while-off',
    'While the transport is off, a dispatch is refused with 403.',
    { needs: [] },
    async (it) => {
      await needsOff(it)
      it.refuses(await dispatch(it, { origin: '' }, '{'), 403, 'SECURE_TRANSPORT_DISABLED')
    },
  ),
]

export const bootstrapAndSession = [
  probe('server-time', 'serverTime of bootstrap is in milliseconds.', { reads: true }, async (it) => {
    const { serverTime } = membersOrNone((await readsBootstrap(it)).json)
    const fits = Number.isSafeInteger(serverTime) && Number(serverTime) >= MILLISECONDS_MIN
    it.holds(fits, 'milliseconds since 1970', serverTime)
  }),
  probe(
    'kid',
    'kid of bootstrap is the first 16 characters of the base64url SHA-256 of serverPublicKey.',
    { reads: true },
    async (it) => {
      const { kid, serverPublicKey } = membersOrNone((await readsBootstrap(it)).json)
      const point = decodePublicKey(String(serverPublicKey)) ?? it.notApplicable('Needs a public key.')
      it.equals('kid', kid, kidOf(point))
    },
  ),
  probe('session', 'A session call with clientPublicKey returns sid, salt and brand.', async (it) => {
    const { response, members } = await opened(it)
    acceptsSession(it, response)
    const { sid, salt, brand } = members
    it.holds([sid, salt, brand].every(isText), 'texts sid, salt and brand', Object.keys(members))
  }),
  probe('sid', 'sid is ss_ and 16 bytes in base64url.', async (it) => {
    const { sid } = (await openedMembers(it)).members
    const bytes = /^ss_/.test(String(sid)) ? decodeBase64url(String(sid).slice(3)) : undefined
    it.holds(bytes?.length === 16, 'ss_ and 16 bytes', sid)
  }),
  probe('salt', 'salt is 32 bytes in unpadded base64url.', async (it) => {
    const { salt } = (await openedMembers(it)).members
    it.equals('bytes of the salt', decodeBase64url(String(salt))?.length, 32)
  }),
  probe('no-origin', 'origin of a session is empty if the request had none.', async (it) => {
    it.equals('origin', (await openedMembers(it)).members.origin, '')
  }),
  probe('lifetime', 'expiresAt of a session is 600 s after it was opened, in milliseconds.', async (it) => {
    const { members, before, after } = await openedMembers(it)
    if (Number(before) < MILLISECONDS_MIN) it.notApplicable('Needs serverTime in milliseconds.')
    const least = Number(before) + SESSION_LIFETIME_MS - CLOCKS_MS
    const most = Number(after) + SESSION_LIFETIME_MS + CLOCKS_MS
    const lasts = Number(members.expiresAt) - Number(after)
    const fits = Number(members.expiresAt) >= least && Number(members.expiresAt) <= most
    it.holds(fits, 'expiresAt 600,000 ms after serverTime', `expiresAt ${lasts} ms after serverTime`)
  }),
  probe('alias', 'A session call may name its key publicKey.', async (it) => {
    await session(it)
    const { clientPublicKey: publicKey } = newKey()
    acceptsSession(it, await callSession(it, { publicKey }))
  }),
  probe('optional-members', 'A session call may name kid, v and suite.', async (it) => {
    const { kid } = await session(it)
    acceptsSession(it, await callSession(it, { ...newKey(), kid, v: PROTOCOL_VERSION, suite: SUITE }))
  }),
  probe(
    'request-keys',
    'A call encrypted with the key and additional data of the specification is accepted.',
    async (it) => {
      const fresh = await unconfirmedSession(it)
      const { status, code = '' } = await dispatch(it, fresh, sealed(fresh, anyCall(it)))
      if (otherReasons.includes(code))
        it.notApplicable(`Needs an envelope that is refused for no other reason: ${code}.`)
      it.holds(status < 400, 'status 200', `status ${status} ${code}`)
    },
  ),
  probe(
    'response-keys',
    'A response is encrypted with the key and additional data of the specification.',
    async (it) => {
      const fresh = await unconfirmedSession(it)
      const envelope = sealed(fresh, anyCall(it))
      const outer = await dispatch(it, fresh, envelope)
      if (outer.status >= 400) it.notApplicable(`Needs an accepted call: ${outer.status} ${outer.code ?? ''}.`)
      it.holds(innerOf(outer, envelope, fresh) !== undefined, 'a response that decrypts', 'one that does not')
    },
  ),
  probe('leading-zeros', 'A shared secret that begins with a zero byte keeps it.', async (it) => {
    await session(it)
    const keyPair = leadingZeroPair((await bootstrap(it)).serverPublicKey)
    const fresh = await openSession(it, { keyPair })
    const { status, code } = await dispatch(it, fresh, sealed(fresh, anyCall(it)))
    it.holds(status < 400, 'status 200', `status ${status} ${code ?? ''}`)
  }),
  probe('version', 'A session call for version 2 is refused with 400.', async (it) =>
    it.refuses(await callSession(it, { ...newKey(), v: 2 }), 400, 'SECURE_VERSION_UNSUPPORTED'),
  ),
  probe('public-key', 'A session call without a valid key is refused with 400.', async (it) =>
    refusedKey(it, invalidKey),
  ),
  probe('empty-body', 'A session call without a body is refused with 400 for its key.', async (it) => refusedKey(it)),
  probe('unknown-kid', 'A session call with an unknown kid is refused with 409.', async (it) =>
    it.refuses(await callSession(it, { ...newKey(), kid: UNKNOWN_KID }), 409, 'SECURE_SESSION_MISMATCH'),
  ),
  probe('version-before-key', 'The version of a session call is checked before its key.', async (it) =>
    it.refuses(await callSession(it, { ...invalidKey, v: 2 }), 400, 'SECURE_VERSION_UNSUPPORTED'),
  ),
  probe('key-before-kid', 'The key of a session call is checked before its kid.', async (it) =>
    refusedKey(it, { ...invalidKey, kid: UNKNOWN_KID }),
  ),
]

const UNKNOWN_KID = 'AAAAAAAAAAAAAAAA'

/** Says that a session call is refused for its key; one that is accepted deviates from the rule of public keys. */
async function refusedKey(it: ProbeContext, members?: Readonly<Record<string, unknown>>): Promise<void> {
  const response = await callSession(it, members)
  if (response.status < 400) it.notApplicable('Needs a platform that refuses such a key.')
  it.refuses(response, 400, 'SECURE_PUBLIC_KEY_INVALID')
}

const keyProbe = probesOf('public-keys', { needs: ['secure'], partly: ['server-key'] })

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
  keyProbe(
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
    keyProbe(name, `A client key ${what} is refused.`, async (it) => {
      await session(it)
      const { status } = await callSession(it, { clientPublicKey: key() })
      it.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
    }),
  ),
]
