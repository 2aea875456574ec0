import type { FaultKind, NewFault } from '../../../contract/platform/fault-kinds.js'
import { faultSentence } from './fault-sentence.js'
import { plural } from './format.js'

/** Fields of the form for a fault, as typed. */
export interface FaultFields {
  readonly endpoint: string
  readonly kind: FaultKind
  /** Which calls it affects: the next ones, a share, or from the nth. */
  readonly calls: 'next' | 'share' | 'nth'
  readonly [name: string]: string
}

/** The fault that the fields describe; a sentence about a field that cannot be read. The server checks the values. */
export function faultOf(fields: FaultFields): NewFault | string {
  const { endpoint, kind, calls } = fields
  const number = (name: string) => {
    const text = fields[name]?.trim()
    return text ? { [name]: Number(text) } : {}
  }
  const path = fields.path?.trim()
  const body = objectOf(fields.body)
  if (body === null) return 'The body to match is a JSON object, such as {"reference":"till-4"}.'
  const isDelay = kind === 'delay'
  return {
    endpoint,
    kind,
    ...(calls === 'share' ? { share: Number(fields.share) / 100, ...number('seed') } : {}),
    ...(calls === 'nth' ? number('nth') : {}),
    ...number('times'),
    ...(isDelay && !fields.delay_ms?.trim() ? { delay_ms: 1000 } : number('delay_ms')),
    ...(kind === 'status' ? { ...number('status'), ...number('retry_after') } : {}),
    ...(kind === 'status' && fields.code?.trim() ? { code: fields.code.trim() } : {}),
    ...(path || body ? { match: { ...(path && { path }), ...(body && { body }) } } : {}),
  }
}

/** The object of a JSON text; undefined for an empty text, null for any other text. */
function objectOf(text = ''): Record<string, unknown> | null | undefined {
  if (text.trim() === '') return undefined
  try {
    const read: unknown = JSON.parse(text)
    return read && typeof read === 'object' && !Array.isArray(read) ? (read as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** Says what the fault will do, in the words of the list of faults. */
export function previewOf({ match, ...fault }: NewFault): string {
  const { share = null, delay_ms = null, times = share === null ? 1 : null } = fault
  const shown = match && { match: { ...(match.body && { body: Object.keys(match.body) }) } }
  const sentence = faultSentence({ ...fault, ...shown, id: '', share, delay_ms, times, left: null })
  return `${sentence}${times === null ? '' : `, ${plural(times, 'calls')} only`}.`
}
