import { escapePointer, type ValidationIssue } from '../../contract/envelope.js'
import { closest } from '../../contract/values/closest.js'

/** Maximum of validation issues in a response; the client sees further issues after correcting these. */
export const ISSUES_MAX = 20

/** The validation issue that reports an unknown member (DECISIONS.md#unknown-members). */
export function unknownMember(at: string, name: string, known: readonly string[]): ValidationIssue {
  const issue = {
    pointer: `${at}/${escapePointer(name)}`,
    code: 'additionalProperties',
    message: 'is not known here',
  }
  const close = closest(name, known)
  return close === undefined ? issue : { ...issue, suggestion: `did you mean ${close}?` }
}
