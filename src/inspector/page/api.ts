import type { Envelope, FailureEnvelope, ValidationIssue } from '../../contract/envelope.js'
import { signal } from './signal.js'
import { distrust, standing, TOKEN, trusted } from './trust.js'

export interface Failure {
  /** Error message for people, as a sentence. */
  readonly sentence: string
  /** Failure code of a response. */
  readonly code?: string
}
export type Result<Data> = { readonly ok: true; readonly data: Data } | ({ readonly ok: false } & Failure)

export const NO_SESSION = 'This tab has no session.'

export const NO_RESPONSE = 'The server does not respond. Is it still running?'

/** True while the server does not accept the token of this tab. */
export const sessionEnded = signal(false)

export const API = '/_platform/v1'

/** Text for a server that does not prove to be the server of this tab. */
export const NOT_PROVED =
  'The server at this address does not know this tab: another program may have the port, or the session ended. The tab sends nothing until its server is back. For a new session run this command:'

/** Sends a request with the tab's token, once the server has proved to be the server of this tab. */
export const send = async (path: string, method = 'GET', body?: unknown): Promise<Response> => {
  await trusted()
  const headers = { 'content-type': 'application/json', [TOKEN]: sessionStorage.getItem(TOKEN) ?? '' }
  return fetch(path, { method, headers, body: JSON.stringify(body) })
}

/** A response of the server, or of a call that the server made for somebody. */
export interface Received {
  readonly status: number
  readonly headers: [name: string, value: string][]
  /** Null if it is not JSON. */
  readonly body: Envelope<unknown> | null
}

/** Reads from the operator API; never throws. Changes use `makeCall`. */
export async function read<Data>(path: string): Promise<Result<Data>> {
  const response = await exchange('GET', API + path)
  return response.ok ? dataOf(response.data) : response
}

/** Sends a request; never throws, and fails only without a response or without a session. */
export async function exchange(method: string, path: string, body?: unknown): Promise<Result<Received>> {
  let response: Response
  // A change must not happen later, when nobody expects it any more.
  if (method !== 'GET' && standing.value !== 'own') return { ok: false, sentence: NO_RESPONSE }
  try {
    response = await send(path, method, body)
  } catch {
    void distrust()
    return { ok: false, sentence: NO_RESPONSE }
  }
  const { status, headers } = response
  const read = await response.json().catch(() => null)
  noteSession(response)
  if (sessionEnded.value) return { ok: false, sentence: NO_SESSION }
  return { ok: true, data: { status, headers: [...headers], body: read } }
}

/** Data of a success, or the reason of a refusal. */
export function dataOf<Data>({ status, body }: Received): Result<Data> {
  if (body?.success) return { ok: true, data: body.data as Data }
  if (body?.success === false) return { ok: false, sentence: sentenceOf(body), code: body.code }
  return { ok: false, sentence: `The server responded with HTTP ${status}.` }
}

/** Records whether the server accepts the token. */
export function noteSession({ status }: Response): void {
  sessionEnded.value = status === 401
}

/** Message of a failure with each invalid member. */
export function sentenceOf({ message, details }: FailureEnvelope): string {
  const issues = (details?.errors ?? []) as readonly ValidationIssue[]
  return [message, ...issues.map((it) => `${it.pointer}: ${it.message}.`)].join(' ')
}
