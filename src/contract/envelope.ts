/** The body of every JSON response (rules/calls.md#envelope). */
export type Envelope<Data> = SuccessEnvelope<Data> | FailureEnvelope

interface SuccessEnvelope<Data> {
  success: true
  data: Data
  requestId: string
}

export interface FailureEnvelope {
  success: false
  code: string
  message: string
  retryable: boolean
  details?: Record<string, unknown>
  requestId: string
}

/** One element of `details.errors` of a VALIDATION_FAILED response. */
export interface ValidationIssue {
  /** Location of the issue: a JSON pointer into the body, or the name of a query member or header. */
  pointer: string
  /** The violated rule, a JSON Schema keyword such as `required`. */
  code: string
  message: string
  /** The text "did you mean …?" with a known name, for an unknown member. */
  suggestion?: string
}

/** Escapes a member name for a JSON pointer (RFC 6901). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

export const unescapePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')
