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

/** Reads from the operator API; never throws. */
export const read = <Data>(path: string): Promise<Result<Data>> => call('GET', path)

/** Calls an endpoint of the operator API; never throws. Changes use `makeCall`. */
export async function call<Data>(method: string, path: string, body?: unknown): Promise<Result<Data>> {
  let response: Response
  // A change must not happen later, when nobody expects it any more.
  if (method !== 'GET' && standing.value !== 'own') return { ok: false, sentence: NO_RESPONSE }
  try {
    response = await send(API + path, method, body)
  } catch {
    void distrust()
    return { ok: false, sentence: NO_RESPONSE }
  }
  const read = (await response.json().catch(() => null)) as Envelope<Data> | null
  const refusal = read?.success === false ? read : undefined
  noteSession(response)
  if (sessionEnded.value) return { ok: false, sentence: NO_SESSION }
  if (read?.success) return { ok: true, data: read.data }
  if (refusal) return { ok: false, sentence: sentenceOf(refusal), code: refusal.code }
  return { ok: false, sentence: `The server responded with HTTP ${response.status}.` }
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
