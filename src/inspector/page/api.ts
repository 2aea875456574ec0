import type { Envelope, FailureEnvelope, ValidationIssue } from '../../contract/envelope.js'
import { signal } from './signal.js'

export interface Failure {
  /** What went wrong, as a sentence for people. */
  readonly sentence: string
}
export type Result<Data> = { readonly ok: true; readonly data: Data } | ({ readonly ok: false } & Failure)

export const SESSION_ENDED = 'This page’s session has ended: run voucherctl open again.'

/** True while the server does not accept the cookie of this page. */
export const sessionEnded = signal(false)

export const API = '/_platform/v1'

/** Calls an endpoint of the operator API, such as `call('POST', '/clock/advance', { seconds: 60 })`; never throws. */
export async function call<Data>(method: string, path: string, body?: unknown): Promise<Result<Data>> {
  let response: Response
  try {
    response = await fetch(API + path, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
  } catch {
    return { ok: false, sentence: 'The server does not respond. Is it still running?' }
  }
  const read = (await response.json().catch(() => null)) as Envelope<Data> | null
  const refusal = read?.success === false ? read : undefined
  if (isSessionEnd(response.status, refusal?.code)) return { ok: false, sentence: SESSION_ENDED }
  if (response.ok && read?.success) return { ok: true, data: read.data }
  if (refusal) return { ok: false, sentence: sentenceOf(refusal) }
  return { ok: false, sentence: `The server responded with HTTP ${response.status}.` }
}

/** Notes whether the server accepts the cookie. One 403 has another reason: the server does not allow a reset. */
export function isSessionEnd(status: number, code?: string): boolean {
  sessionEnded.value = status === 401 || (status === 403 && code !== 'RESET_NOT_ALLOWED')
  return sessionEnded.value
}

function sentenceOf({ message, details }: FailureEnvelope): string {
  const issues = (details?.errors ?? []) as readonly ValidationIssue[]
  return [message, ...issues.map((it) => `${it.pointer}: ${it.message}.`)].join(' ')
}
