import { type FaultKind, faultTable, type NewFault } from '../../../contract/platform/fault-kinds.js'
import { faultSentence } from './fault-sentence.js'
import { plural } from './format.js'

/** Returns the fault of the form's fields, or a sentence if the body is not an object. The server checks the rest. */
export function faultOf(fields: Readonly<Record<string, string>>): NewFault | string {
  const typed = Object.entries(fields).flatMap(([name, text]) => (text.trim() ? [[name, text.trim()] as const] : []))
  const {
    endpoint = '',
    kind = '',
    path,
    body,
    code,
    share,
    status,
    retry_after,
    ...others
  } = Object.fromEntries(typed)
  const numbers =
    kind === 'status' ? { ...others, ...(status && { status }), ...(retry_after && { retry_after }) } : others
  const members = body === undefined ? undefined : objectOf(body)
  if (members === null) return 'The body to match is a JSON object, such as {"reference":"till-4"}.'
  return {
    endpoint,
    kind: kind as FaultKind,
    // Only the default status has a default Retry-After.
    ...(kind === 'status' && status ? {} : faultTable[kind as FaultKind][3]),
    ...Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, Number(text)])),
    ...(share && { share: Number(share) / 100 }),
    ...(kind === 'status' && code && { code }),
    ...((path || members) && { match: { ...(path && { path }), ...(members && { body: members }) } }),
  }
}

function objectOf(text: string): Record<string, unknown> | null {
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
  const sentence = faultSentence({ ...fault, ...(match && { match: {} }), id: '', share, delay_ms, times, left: null })
  return `${sentence}${times === null ? '' : `, ${plural(times, 'calls')} only`}.`
}
