import { randomBytes } from 'node:crypto'
import { contract } from '../../../contract/index.js'
import { type ClientKeyPair, makeClientKeyPair } from '../../../secure/client/key.js'
import {
  type Bootstrap,
  type ClientSession,
  clockOffsetOf,
  originHeader,
  readBootstrap,
  readSession,
} from '../../../secure/client/negotiation.js'
import { decodeBinary, type Envelope, type EnvelopeHead, open, seal } from '../../../secure/envelope.js'
import { readInnerResponse } from '../../../secure/inner-response.js'
import { MEDIA_TYPE, paths } from '../../../secure/suite.js'
import { encodeBase64url } from '../../../values/base64url.js'
import { type Members, parseJson } from '../../../values/json.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone, type WireRequest } from '../../wire.js'

/** Ms for which probes share a session, which lasts 600 s. */
const SHARED_MS = 300_000

export const TEMPLATES = contract.templates.list.path

/** Bootstrap document of the platform, and the lead of its clock in ms. */
interface Server extends Bootstrap {
  readonly offsetMs: number
}

export interface Session extends ClientSession {
  readonly offsetMs: number
}

export interface Inner {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Members
}

const asHttp = ({ status, headers, text }: Observed) => ({ status, headers, body: text })

export const readsBootstrap = (run: ProbeContext): Promise<Observed> =>
  run.send({ method: 'GET', path: paths.bootstrap, headers: { accept: 'application/json' }, plain: true })

export const bootstrap = (run: ProbeContext): Promise<Server> =>
  run.resources.once('secure bootstrap', async () => {
    const startedAt = Date.now()
    const read = readBootstrap(asHttp(await readsBootstrap(run)), [])
    if (!read.ok || !read.enabled) return run.notApplicable('Needs a bootstrap response that a client can use.')
    return { ...read, offsetMs: clockOffsetOf(read.serverTime, startedAt, Date.now()) }
  })

export const newKeyPair = () => makeClientKeyPair(randomBytes)

/** Sends a session call with these members, or without a body. */
export function callSession(
  run: ProbeContext,
  members?: Members,
  headers: WireRequest['headers'] = {},
): Promise<Observed> {
  return run.send({
    method: 'POST',
    path: paths.session,
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    ...(members === undefined ? {} : { body: JSON.stringify(members) }),
    plain: true,
  })
}

interface SessionOptions {
  readonly origin?: string
  readonly keyPair?: ClientKeyPair
}

/** Opens a session and derives its keys; no call has confirmed the keys yet. */
export async function openSession(run: ProbeContext, { origin = '', keyPair = newKeyPair() }: SessionOptions = {}) {
  const server = await bootstrap(run)
  const { offsetMs } = server
  const response = await callSession(run, { clientPublicKey: encodeBase64url(keyPair.publicKey) }, originHeader(origin))
  const read = readSession(asHttp(response), server, keyPair, { origin, serverNow: Date.now() + offsetMs })
  if (!read.ok) return run.notApplicable(`Needs an encrypted session: status ${response.status}.`)
  return { ...read.session, offsetMs } satisfies Session
}

/** Origin of a bound session, which a policy other than `*` refuses. */
export const ORIGIN = 'https://conform.example'

const slot = () => Math.floor(Date.now() / SHARED_MS)

/** Session of most probes before a call has confirmed its keys. */
export const unconfirmedSession = (run: ProbeContext, origin = ''): Promise<Session> =>
  run.resources.once(`session ${slot()} ${origin}`, () => openSession(run, { origin }))

/** Session in which the platform has accepted a call and returned a response that can be decrypted. */
export const session = (run: ProbeContext, origin = ''): Promise<Session> =>
  run.resources.once(`confirmed session ${slot()} ${origin}`, async () => {
    const opened = await unconfirmedSession(run, origin)
    const envelope = sealed(opened, anyCall(run))
    const inner = innerOf(await dispatch(run, opened, envelope), envelope, opened)
    return inner === undefined ? run.notApplicable('Needs a session whose calls the platform accepts.') : opened
  })

/** A call that changes nothing, with a credential if the user offers one. */
export function anyCall(run: ProbeContext, changes: Members = {}): Members {
  const { token } = run.resources.offer.credentials
  const headers = { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  return { method: 'GET', path: TEMPLATES, query: { limit: 1 }, headers, body: null, ...changes }
}

/** Encrypts a call. `head` overrides fields that the tag covers. @param call members, or the whole plaintext */
export function sealed(session: Session, call: Members | string, head: Partial<EnvelopeHead> = {}): Envelope {
  const { kid, sid, keyC2s, offsetMs } = session
  const fields = { kid, sid, rid: encodeBase64url(randomBytes(16)), ts: Date.now() + offsetMs, ...head }
  return seal(keyC2s, 'c2s', fields, randomBytes(12), typeof call === 'string' ? call : JSON.stringify(call))
}

interface DispatchOptions {
  readonly headers?: WireRequest['headers']
  /** Query of the outer request, with its question mark. */
  readonly query?: string
}

export function dispatch(
  run: ProbeContext,
  { origin }: Pick<Session, 'origin'>,
  envelope: Members | Envelope | string,
  { headers = {}, query = '' }: DispatchOptions = {},
): Promise<Observed> {
  return run.send({
    method: 'POST',
    path: `${paths.dispatch}${query}`,
    headers: { accept: MEDIA_TYPE, 'content-type': MEDIA_TYPE, ...originHeader(origin), ...headers },
    body: typeof envelope === 'string' ? envelope : JSON.stringify(envelope),
    plain: true,
  })
}

/** Decrypts a response, whatever its status and other fields are; undefined if decryption fails. */
export function innerOf(outer: Observed, sent: Envelope, { keyS2c }: Session): Inner | undefined {
  const binary = decodeBinary(membersOrNone(outer.json))
  const plaintext = binary && open(keyS2c, 's2c', { ...sent, ...binary })
  const inner = plaintext && readInnerResponse(plaintext)
  return inner && { status: inner.status, headers: inner.headers, body: membersOrNone(parseJson(inner.body)) }
}

export async function inside(
  run: ProbeContext,
  call: Members | string,
  options: DispatchOptions & { session?: Session } = {},
) {
  const through = options.session ?? (await session(run))
  const envelope = sealed(through, call)
  const outer = await dispatch(run, through, envelope, options)
  const inner = innerOf(outer, envelope, through)
  return inner ?? run.notApplicable(`Needs an encrypted response: status ${outer.status} ${outer.code ?? ''}.`)
}

export const said = ({ status, body: { code } }: Inner) =>
  `inner status ${status}${typeof code === 'string' ? ` ${code}` : ''}`

export const isInnerSuccess = ({ status, body }: Inner) => status >= 200 && status <= 299 && body.success !== false
