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

const transport = probesOf('encrypted-transport', { needs: ['secure'] })
const transportRead = transport.with({ reads: true })
const accountTransport = transport.with({ needs: ['secure', 'jwt'] })
const anonymous = transport.with({ needs: [] })
const probe = probesOf('bootstrap-and-session', { needs: ['secure'] })
const reading = probe.with({ reads: true })

/** Maximum difference of two times in ms: several servers may have slightly different clocks. */
const CLOCKS_MS = 2_000

/** Smallest plausible time in ms since 1970; a time in seconds is below it for the next 30,000 years. */
const MILLISECONDS_MIN = 1_000_000_000_000

/** Codes that refuse an envelope for other reasons than its keys. */
const otherReasons: readonly string[] = dispatchEndpoint.failures.filter((it) => it !== 'DECRYPTION_FAILED')

const isText = (value: unknown) => typeof value === 'string' && value !== ''

/** Session call whose response several probes share. */
const opened = (run: ProbeContext) =>
  run.resources.once('session call', async () => {
    const before = membersOrNone((await readsBootstrap(run)).json).serverTime
    const response = await callSession(run, { clientPublicKey: encodeBase64url(newKeyPair().publicKey) })
    const after = membersOrNone((await readsBootstrap(run)).json).serverTime
    return { response, members: membersOrNone(response.json), before, after }
  })

async function openedMembers(run: ProbeContext) {
  const { response, ...rest } = await opened(run)
  if (response.status !== 200 && response.status !== 201) run.notApplicable(`Needs a session: ${response.status}.`)
  return rest
}

const invalidKey = { clientPublicKey: 'AAAA' }
const newKey = () => ({ clientPublicKey: encodeBase64url(newKeyPair().publicKey) })

const acceptsSession = (run: ProbeContext, { status, code }: Observed) =>
  run.holds(status === 200 || status === 201, 'a session', `status ${status} ${code ?? ''}`)

/** Finds a key pair whose shared secret begins with a zero byte, as one of 256 does. */
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

async function needsOff(run: ProbeContext): Promise<void> {
  const { enabled } = membersOrNone((await readsBootstrap(run)).json)
  if (enabled !== false) run.notApplicable('Needs a platform whose encrypted transport is off.')
}

export const encryptedTransport = [
  transportRead.specified(1, 'suite', `Bootstrap has version ${PROTOCOL_VERSION} and suite ${SUITE}.`, async (run) => {
    const { v, suite } = membersOrNone((await readsBootstrap(run)).json)
    run.equals('v and suite', [v, suite], [PROTOCOL_VERSION, SUITE])
  }),
  accountTransport(3, 'console-call', 'A console call can be made through the encrypted transport.', async (run) => {
    const { path } = contract.apps.list
    const headers = { accept: 'application/json', authorization: `Bearer ${run.resources.credential('jwt')}` }
    run.needs(await run.call(contract.apps.list, {}), 'a list of applications')
    const inner = await inside(run, { method: 'GET', path, query: {}, headers, body: null })
    run.holds(inner.body.success === true, 'an inner success', said(inner))
  }),
  anonymous(2, 'session-while-off', 'While the transport is off, a session call is refused with 403.', async (run) => {
    await needsOff(run)
    run.refuses(await callSession(run), 403, 'SECURE_TRANSPORT_DISABLED')
  }),
  anonymous(2, 'dispatch-while-off', 'While the transport is off, a dispatch is refused with 403.', async (run) => {
    await needsOff(run)
    run.refuses(await dispatch(run, { origin: '' }, '{'), 403, 'SECURE_TRANSPORT_DISABLED')
  }),
]

export const bootstrapAndSession = [
  reading(2, 'server-time', 'serverTime of bootstrap is in milliseconds.', async (run) => {
    const { serverTime } = membersOrNone((await readsBootstrap(run)).json)
    const fits = Number.isSafeInteger(serverTime) && Number(serverTime) >= MILLISECONDS_MIN
    run.holds(fits, 'milliseconds since 1970', serverTime)
  }),
  reading(4, 'kid', 'kid is the first 16 characters of the base64url SHA-256 of serverPublicKey.', async (run) => {
    const { kid, serverPublicKey } = membersOrNone((await readsBootstrap(run)).json)
    const point = decodePublicKey(String(serverPublicKey)) ?? run.notApplicable('Needs a public key.')
    run.equals('kid', kid, kidOf(point))
  }),
  probe.partly(2, 'session', 'A session call with clientPublicKey returns sid, salt and brand.', async (run) => {
    const { response, members } = await opened(run)
    acceptsSession(run, response)
    const { sid, salt, brand } = members
    run.holds([sid, salt, brand].every(isText), 'texts sid, salt and brand', Object.keys(members))
  }),
  probe(4, 'sid', 'sid is ss_ and 16 bytes in base64url.', async (run) => {
    const { sid } = (await openedMembers(run)).members
    const bytes = /^ss_/.test(String(sid)) ? decodeBase64url(String(sid).slice(3)) : undefined
    run.holds(bytes?.length === 16, 'ss_ and 16 bytes', sid)
  }),
  probe.partly(2, 'salt', 'salt is 32 bytes in unpadded base64url.', async (run) => {
    const { salt } = (await openedMembers(run)).members
    run.equals('bytes of the salt', decodeBase64url(String(salt))?.length, 32)
  }),
  probe(2, 'no-origin', 'origin of a session is empty if the request had none.', async (run) => {
    run.equals('origin', (await openedMembers(run)).members.origin, '')
  }),
  probe.partly(1, 'lifetime', 'expiresAt of a session is 600 s after it was opened, in milliseconds.', async (run) => {
    const { members, before, after } = await openedMembers(run)
    if (Number(before) < MILLISECONDS_MIN) run.notApplicable('Needs serverTime in milliseconds.')
    const least = Number(before) + SESSION_LIFETIME_MS - CLOCKS_MS
    const most = Number(after) + SESSION_LIFETIME_MS + CLOCKS_MS
    const lasts = Number(members.expiresAt) - Number(after)
    const fits = Number(members.expiresAt) >= least && Number(members.expiresAt) <= most
    run.holds(fits, 'expiresAt 600,000 ms after serverTime', `expiresAt ${lasts} ms after serverTime`, 'decided')
  }),
  probe(2, 'alias', 'A session call may name its key publicKey.', async (run) => {
    await session(run)
    const { clientPublicKey: publicKey } = newKey()
    acceptsSession(run, await callSession(run, { publicKey }))
  }),
  probe(2, 'optional-members', 'A session call may name kid, v and suite.', async (run) => {
    const { kid } = await session(run)
    acceptsSession(run, await callSession(run, { ...newKey(), kid, v: PROTOCOL_VERSION, suite: SUITE }))
  }),
  probe.specified(1, 'request-keys', 'A call with the specified key and additional data is accepted.', async (run) => {
    const fresh = await unconfirmedSession(run)
    const { status, code = '' } = await dispatch(run, fresh, sealed(fresh, anyCall(run)))
    if (otherReasons.includes(code))
      run.notApplicable(`Needs an envelope that is refused for no other reason: ${code}.`)
    run.holds(status < 400, 'status 200', `status ${status} ${code}`)
  }),
  probe.specified(1, 'response-keys', 'A response uses the specified key and additional data.', async (run) => {
    const fresh = await unconfirmedSession(run)
    const envelope = sealed(fresh, anyCall(run))
    const outer = await dispatch(run, fresh, envelope)
    if (outer.status >= 400) run.notApplicable(`Needs an accepted call: ${outer.status} ${outer.code ?? ''}.`)
    run.holds(innerOf(outer, envelope, fresh) !== undefined, 'a response that decrypts', 'one that does not')
  }),
  probe.specified(3, 'leading-zeros', 'A shared secret that begins with a zero byte keeps it.', async (run) => {
    await session(run)
    const keyPair = leadingZeroPair((await bootstrap(run)).serverPublicKey)
    const fresh = await openSession(run, { keyPair })
    run.succeeds(await dispatch(run, fresh, sealed(fresh, anyCall(run))))
  }),
  probe(4, 'version', 'A session call for version 2 is refused with 400.', async (run) =>
    run.refuses(await callSession(run, { ...newKey(), v: 2 }), 400, 'SECURE_VERSION_UNSUPPORTED'),
  ),
  probe(4, 'public-key', 'A session call without a valid key is refused with 400.', async (run) =>
    refusedKey(run, invalidKey),
  ),
  probe(4, 'empty-body', 'A session call without a body is refused for its key.', async (it) => refusedKey(it)),
  probe(4, 'unknown-kid', 'A session call with an unknown kid is refused with 409.', async (run) =>
    run.refuses(await callSession(run, { ...newKey(), kid: UNKNOWN_KID }), 409, 'SECURE_SESSION_MISMATCH'),
  ),
  probe(4, 'version-before-key', 'The version of a session call is checked before its key.', async (run) =>
    run.refuses(await callSession(run, { ...invalidKey, v: 2 }), 400, 'SECURE_VERSION_UNSUPPORTED'),
  ),
  probe(4, 'key-before-kid', 'The key of a session call is checked before its kid.', async (run) =>
    refusedKey(run, { ...invalidKey, kid: UNKNOWN_KID }),
  ),
]

const UNKNOWN_KID = 'AAAAAAAAAAAAAAAA'

/** Tests that a session call is refused because of its key. */
async function refusedKey(run: ProbeContext, members?: Readonly<Record<string, unknown>>): Promise<void> {
  run.refuses(await callSession(run, members), 400, 'SECURE_PUBLIC_KEY_INVALID')
}

const keyProbe = probesOf('public-keys', { needs: ['secure'] })

/** Changes a valid uncompressed point of 65 bytes. */
const changed = (change: (point: Buffer) => Uint8Array) => () =>
  encodeBase64url(change(Buffer.from(newKeyPair().publicKey)))

const withFirst = (first: (sign: number) => number) => (point: Buffer) => {
  point[0] = first((point[64] ?? 0) & 1)
  return point
}

/** The last of 87 characters has two unused bits; setting one bit gives another text for the same bytes. */
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
  keyProbe
    .with({ reads: true })
    .partly(1, 'server-key', 'serverPublicKey is an uncompressed point, in canonical base64url.', async (run) => {
      const { serverPublicKey } = membersOrNone((await readsBootstrap(run)).json)
      const isPoint = typeof serverPublicKey === 'string' && decodePublicKey(serverPublicKey) !== undefined
      run.holds(isPoint, 'a point of 65 bytes in 87 characters', serverPublicKey)
    }),
  ...refused.map(([name, what, key]) =>
    keyProbe(1, name, `A client key ${what} is refused.`, async (run) => {
      await session(run)
      const { status } = await callSession(run, { clientPublicKey: key() })
      run.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
    }),
  ),
]
