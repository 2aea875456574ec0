import { randomBytes } from 'node:crypto'
import { isTransportError } from '../../../client/transport.js'
import type { CredentialKind } from '../../../contract/endpoint.js'
import { kindOf } from '../../../contract/secrets.js'
import { makeClientKeyPair } from '../../../secure/client/key.js'
import {
  type Bootstrap,
  bootstrapRequest,
  type ClientSession,
  readBootstrap,
  readSession,
  sessionRequest,
} from '../../../secure/client/negotiation.js'
import { openResponse, type SealedRequest, sealRequest } from '../../../secure/dispatch.js'
import { type SecureFailure, secureCodeOf } from '../../../secure/failure.js'
import type { HttpRequest, HttpResponse } from '../../../secure/http.js'
import { encodeInnerRequest } from '../../../secure/inner-request.js'
import { kidOf } from '../../../secure/public-key.js'
import { CLOCK_SKEW_MS, type SecureCode, SUITE } from '../../../secure/suite.js'
import { decodeBase64url, encodeBase64url } from '../../../values/base64url.js'
import { asMembers, parseJson } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { downgradeProtection } from '../../command/downgrade-protection.js'
import { findCredential } from '../../config/credentials.js'
import type { Failure } from '../../failures/failure.js'
import { credentialNames } from '../../host/secrets.js'
import type { Result } from '../../output/outcome.js'
import { disabled, type SecureServer } from './server.js'

export interface WalkStep {
  readonly step: string
  readonly ok: boolean
  readonly ms: number
  /** Bytes of the request body; null for a step without a call. */
  readonly request_bytes: number | null
  readonly response_bytes: number | null
  /** The property that the step has verified, or the reason why it failed. */
  readonly result: string
  /** Failure code; null if the step passed. */
  readonly code: string | null
}

export interface WalkReport {
  readonly base_url: string
  readonly ok: boolean
  readonly steps: readonly WalkStep[]
}

interface WalkStepSuccess<Value> {
  readonly ok: true
  readonly value: Value
  readonly result: string
  readonly request?: HttpRequest
  readonly outerResponse?: HttpResponse
}
type WalkStepFailure = Pick<SecureFailure, 'ok' | 'outerResponse' | 'cause'> & Record<'code' | 'message', string>
type WalkStepResult<Value> = WalkStepSuccess<Value> | WalkStepFailure

/** Failure codes for a missing response: network failures, with exit code 9. */
const codesWithoutResponse = ['SECURE_NO_ANSWER', 'SECURE_TIMEOUT', 'SECURE_ABORTED']
const ELSEWHERE = 'https://elsewhere.invalid'

/** Runs and records the steps of `secure check`. It stops at a failed step whose result the next steps need. */
class Walk {
  readonly steps: WalkStep[] = []
  readonly #exits: number[] = []

  /** Exit code of the whole command; if several steps failed, a network failure takes precedence. */
  get exit(): number | undefined {
    return [9, 7, 10].find((it) => this.#exits.includes(it))
  }

  async take<Value>(
    step: string,
    work: () => Promise<WalkStepResult<Value>> | WalkStepResult<Value>,
  ): Promise<Value | undefined> {
    const startedAt = performance.now()
    const verdict = await work()
    const ms = Math.round((performance.now() - startedAt) * 10) / 10
    const { ok, outerResponse } = verdict
    const request = ok ? verdict.request : undefined
    if (!ok) this.#exits.push(exitOf(verdict))
    this.steps.push({
      step,
      ok,
      ms,
      request_bytes: outerResponse === undefined ? null : bytesOf(request?.body),
      response_bytes: outerResponse === undefined ? null : bytesOf(outerResponse.body),
      result: ok ? verdict.result : isTransportError(verdict.cause) ? `${verdict.cause.message}.` : verdict.message,
      code: ok ? null : verdict.code,
    })
    return ok ? verdict.value : undefined
  }
}

/** Exit code of a failed step; server errors and rate limits have the same exit codes as in unencrypted calls. */
function exitOf({ code, outerResponse }: WalkStepFailure): number {
  if (codesWithoutResponse.includes(code) || (outerResponse !== undefined && outerResponse.status >= 500)) return 9
  return outerResponse?.status === 429 ? 7 : 10
}

const bytesOf = (body = '') => Buffer.byteLength(body)

/** Goes through the whole encryption protocol once, without retries. */
export async function walk(
  context: Context,
  server: SecureServer,
  as: CredentialKind | undefined,
): Promise<Result<WalkReport> | Failure> {
  const inside = await chooseCall(context, server.baseUrl, as)
  if ('code' in inside) return inside
  const record = new Walk()
  await takeSteps(context, server, inside, record)
  const { steps, exit } = record
  const data = { base_url: server.baseUrl, ok: exit === undefined, steps }
  return { ok: true, data, ...(exit === undefined ? {} : { exit }) }
}

/** A read call, encoded and ready for encryption. */
interface InnerCall {
  readonly plaintext: Uint8Array
  readonly words: string
}

/** Chooses a harmless read call for the first credential that is available. */
async function chooseCall(
  { host, globals, settings }: Context,
  baseUrl: string,
  as: CredentialKind | undefined,
): Promise<InnerCall | Failure> {
  const reads = {
    token: (await import('../../../contract/templates.js')).templates.list,
    jwt: (await import('../../../contract/apps.js')).apps.list,
    bot: (await import('../../../contract/webhook.js')).webhook.info,
  }
  const kinds = as === undefined ? (['token', 'jwt', 'bot'] as const) : ([as] as readonly (keyof typeof reads)[])
  for (const kind of kinds) {
    const found = await findCredential(host, globals, settings, kind, baseUrl)
    if (!found.ok && (found.code !== 'CREDENTIAL_REQUIRED' || as !== undefined)) return found
    if (!found.ok) continue
    // --token-file contains one credential, whose form shows its kind.
    const kindOfRead = globals['token-file'] === undefined || as !== undefined ? kind : (kindOf(found.value) ?? kind)
    const { path } = reads[kindOfRead === 'operator' ? kind : kindOfRead]
    return innerCall(path, `GET ${path} with the ${credentialNames[kind]}`, { authorization: `Bearer ${found.value}` })
  }
  const { path } = reads.token
  return innerCall(path, `GET ${path}; no credential is there, so that it is refused inside`, {})
}

function innerCall(path: string, words: string, headers: Readonly<Record<string, string>>): InnerCall {
  const encoded = encodeInnerRequest({ method: 'GET', path, headers: { accept: 'application/json', ...headers } })
  if (!encoded.ok) throw new Error('The path of an endpoint is a logical path')
  return { plaintext: encoded.plaintext, words }
}

async function takeSteps(context: Context, server: SecureServer, inside: InnerCall, record: Walk): Promise<void> {
  const { now } = context.host
  const origin = context.settings.secure.origin.value ?? ''
  const startedAt = now()
  const bootstrap = await record.take('bootstrap', () => takeBootstrap(server))
  if (bootstrap === undefined) return
  const offset = Math.round(bootstrap.serverTime - (startedAt + now()) / 2)
  const { value: pins } = context.settings.secure.pins
  if ((await record.take('key', () => checkKey(bootstrap, pins))) === undefined) return
  await record.take('clock', () => checkClock(offset))

  const keyPair = makeClientKeyPair(randomBytes)
  const opened = await record.take<HttpResponse>('session', () =>
    accepted(server, 'session', sessionRequest(bootstrap, keyPair, origin), [200, 201], (it) => `response ${it}`),
  )
  if (opened === undefined) return
  const session = await record.take<ClientSession>('ECDH and HKDF', () => {
    const read = readSession(opened, bootstrap, keyPair, { origin, serverNow: now() + offset })
    if (!read.ok) return read
    const { sid, brand, origin: bound, saltBytes, expiresAt } = read.session
    const seconds = Math.floor((expiresAt - now() - offset) / 1000)
    const where = bound === '' ? 'no origin' : bound
    return {
      ok: true,
      value: read.session,
      result: `${sid}, brand ${brand}, ${where}, ${seconds} s, salt of ${saltBytes} bytes; two keys of 32 bytes`,
    }
  })
  if (session === undefined) return
  await downgradeProtection(context, server.baseUrl).set()
  await takeDispatch(server, inside, session, () => now() + offset, record)
}

async function takeBootstrap(server: SecureServer): Promise<WalkStepResult<Bootstrap>> {
  const sent = await server.send(bootstrapRequest, 'bootstrap')
  if (!sent.ok) return sent
  const { response } = sent
  const read = readBootstrap(response, [])
  if (!read.ok) return read
  if (!read.enabled) return disabled()
  return {
    ok: true,
    value: read,
    result: `v 1, ${SUITE}, switched on`,
    request: bootstrapRequest,
    outerResponse: response,
  }
}

function checkKey({ kid, pin, serverPublicKey }: Bootstrap, pins: readonly string[]): WalkStepResult<true> {
  const form = `a point of P-256, 65 bytes; kid ${kid}${kid === kidOf(serverPublicKey) ? ' is of this key' : ''}; ${pin}`
  if (pins.length === 0) return { ok: true, value: true, result: `${form}, not pinned` }
  if (pins.includes(pin)) return { ok: true, value: true, result: `${form}, pinned` }
  return { ok: false, code: 'SECURE_PIN_MISMATCH', message: `${form} is none of the pinned ones` }
}

function checkClock(offset: number): WalkStepResult<true> {
  const ahead = `the server is ${Math.abs(offset)} ms ${offset < 0 ? 'behind' : 'ahead'}`
  const far = Math.abs(offset) > CLOCK_SKEW_MS ? ', more than the 60 s that are allowed: ts is corrected by it' : ''
  return { ok: true, value: true, result: `${ahead}${far}` }
}

async function takeDispatch(
  server: SecureServer,
  inside: InnerCall,
  session: ClientSession,
  serverNow: () => number,
  record: Walk,
): Promise<void> {
  const seal = () => sealRequest(inside.plaintext, session, serverNow(), randomBytes) as SealedRequest
  const first = seal()
  const sealedResponse = await record.take<HttpResponse>('dispatch', () =>
    accepted(server, 'dispatch', first.request, [200], () => `${inside.words}; outer 200`),
  )
  if (sealedResponse === undefined) return
  const refusal = (step: string, code: SecureCode, request: HttpRequest) =>
    record.take(step, () => expectRefusal(server, code, request))
  await refusal('a replay is refused', 'REQUEST_REPLAYED', first.request)
  await refusal('a changed tag is refused', 'DECRYPTION_FAILED', withOtherTag(seal()))
  const { request } = seal()
  await refusal('another origin is refused', 'SECURE_SESSION_ORIGIN_MISMATCH', {
    ...request,
    headers: { ...request.headers, origin: ELSEWHERE },
  })
  await record.take<true>('decryption', () => {
    const opened = openResponse(sealedResponse, first.envelope, session)
    if (!opened.ok) return opened
    const { status, body } = opened.response
    const code = asMembers(parseJson(body))?.code
    const inner = said(status, typeof code === 'string' ? code : undefined)
    return {
      ok: true,
      value: true,
      result: `repeats the six fields of the request, its tag is valid; status ${inner}`,
    }
  })
}

async function expectRefusal(
  server: SecureServer,
  code: SecureCode,
  request: HttpRequest,
): Promise<WalkStepResult<true>> {
  const sent = await server.send(request, 'dispatch')
  if (!sent.ok) return sent
  const { response: outerResponse } = sent
  const found = secureCodeOf(outerResponse.body)
  if (outerResponse.status >= 400 && found === code) {
    return { ok: true, value: true, result: `${outerResponse.status} ${code}`, request, outerResponse }
  }
  const message = `The server responded with ${said(outerResponse.status, found)} in place of ${code}.`
  return { ok: false, code: 'NOT_REFUSED', message, outerResponse }
}

/** Sends a request and fails unless the response has one of the expected statuses. */
async function accepted(
  server: SecureServer,
  phase: 'session' | 'dispatch',
  request: HttpRequest,
  statuses: readonly number[],
  result: (status: number) => string,
): Promise<WalkStepResult<HttpResponse>> {
  const sent = await server.send(request, phase)
  if (!sent.ok) return sent
  const { response: outerResponse } = sent
  if (statuses.includes(outerResponse.status))
    return { ok: true, value: outerResponse, result: result(outerResponse.status), request, outerResponse }
  const code = secureCodeOf(outerResponse.body)
  const message = `The server responded with ${said(outerResponse.status, code)} to the ${phase}.`
  return { ok: false, code: code ?? 'SECURE_ANSWER_REFUSED', message, outerResponse }
}

const said = (status: number, code: string | undefined) => `${status}${code === undefined ? '' : ` ${code}`}`

/** Copies an envelope and flips one bit of its authentication tag, so that the server must refuse it. */
function withOtherTag({ request, envelope }: SealedRequest): HttpRequest {
  const sealed = Buffer.from(decodeBase64url(envelope.ciphertext) ?? [])
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
  return { ...request, body: JSON.stringify({ ...envelope, ciphertext: encodeBase64url(sealed) }) }
}
