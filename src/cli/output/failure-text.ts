import type { ValidationIssue } from '../../contract/envelope.js'
import type { Explanation } from '../failures/codes.js'
import type { Failure } from '../failures/failure.js'
import type { Paint } from './colour.js'
import { encodeJson } from './encode.js'
import { plainLine, textOrJson, wrap } from './text.js'

/** Encodes a failure as a JSON error object on one line, for scripts. */
export function toJson(failure: Failure): string {
  const { code, message, status, retryable, hint, requestId, details } = failure
  return encodeJson({ error: { code, message, status, retryable, hint, request_id: requestId, details } })
}

/** Members of `details` that people do not see, because message or hint already has their content. */
const inWords: Readonly<Partial<Record<string, string>>> = {
  INPUT_REQUIRED: 'missing',
  CREDENTIAL_REQUIRED: 'kind',
  UNKNOWN_FIELD: 'fields',
  NOTHING_PROVED: 'output',
}

/** Finds the flag or argument that supplied a member of a call, by JSON pointer or name of a query member. */
export type NameMember = (pointer: string) => string | undefined

/** Formats a failure for a person. Text from the server never starts a line, so it cannot imitate our messages. */
export function toText(failure: Failure, paint: Pick<Paint, 'error' | 'hint' | 'quiet'>, nameOf?: NameMember): string {
  const { code, message, hint, about = [], details, requestId } = failure
  const lines = [`${paint.error('error:')} ${plainLine(message)} ${paint.quiet(`(${plainLine(code)})`)}`]
  for (const it of about) lines.push(`  ${plainLine(it)}`)
  const isSaid = (text: string) => text !== '' && (message.includes(text) || hint?.includes(text) === true)
  for (const [name, value] of Object.entries(details)) {
    if (name === 'errors' && Array.isArray(value)) for (const issue of value) lines.push(issueLine(issue, nameOf))
    else if (name !== 'idempotency_key' && name !== inWords[code]) {
      const text = textOrJson(value)
      if (!isSaid(text)) lines.push(`  ${plainLine(name)}: ${plainLine(text)}`)
    }
  }
  if (hint !== null) lines.push(`${paint.hint('hint:')} ${plainLine(hint)}`)
  if (requestId !== null) lines.push(`request: ${plainLine(requestId)}`)
  return `${lines.join('\n')}\n`
}

/** Formats a validation issue; one of unexpected shape as JSON, because a server may send anything. */
function issueLine(issue: Partial<ValidationIssue> | null, nameOf: NameMember | undefined): string {
  if (typeof issue?.pointer !== 'string' || typeof issue.message !== 'string')
    return `  ${plainLine(JSON.stringify(issue))}`
  const suggestion = typeof issue.suggestion === 'string' ? ` (${issue.suggestion})` : ''
  return `  ${plainLine(`${nameOf?.(issue.pointer) ?? issue.pointer}: ${issue.message}${suggestion}`)}`
}

export function explanationText({ code, meaning, causes, fix, status, exit, retryable }: Explanation): string {
  const from = status === null ? 'Found by voucherctl itself' : `HTTP status ${status}`
  const again = retryable ? 'voucherctl retries such calls automatically' : 'repeating it unchanged does not help'
  const retries = status === null ? '' : `; ${again}`
  const end = `${from}, exit code ${exit}${retries}.`
  const why = causes === null ? [] : [`Causes: ${causes}`]
  const lines = [`${code}: ${meaning}`, '', ...why, `What to do: ${fix}`, '', end]
  // Keep each command on one line, so that it can be copied.
  const unbroken = lines.map((it) => it.replaceAll(/`[^`]+`/g, (command) => command.replaceAll(' ', '\u00a0')))
  return unbroken
    .flatMap((it) => wrap(it, 80, '  '))
    .join('\n')
    .replaceAll('\u00a0', ' ')
}
