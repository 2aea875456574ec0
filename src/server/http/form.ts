import fastJson from 'fast-json-stringify'
import type { Endpoint } from '../../contract/endpoint.js'
import type { ValidationIssue } from '../../contract/envelope.js'
import { type ObjectSchema, Type } from '../../contract/schema.js'
import { lazyValidator, oncePer } from './validation.js'

/** What comes in and what goes out, by the schemas of an endpoint. */
export interface Form {
  /** Null when params, query and body fit. */
  validate(params: unknown, query: unknown, body: unknown): ValidationIssue[] | null
  /** The success envelope; for an endpoint that streams there is none. */
  write(data: unknown, requestId: string): string
}

/** Loaded with the first call, not with the server: the libraries that compile schemas take 30 ms. */
export function formOf(endpoint: Endpoint, query: ObjectSchema): Form {
  const validateParams = endpoint.params === undefined ? undefined : lazyValidator(endpoint.params)
  const validateQuery = lazyValidator(query)
  const validateBody = endpoint.body === undefined ? undefined : lazyValidator(endpoint.body)
  return {
    validate: (params, queryInput, body) =>
      validateParams?.(params) ?? validateQuery(queryInput) ?? validateBody?.(body) ?? null,
    write: successSerializer(endpoint),
  }
}

const stringifierOf = oncePer(({ output }: Endpoint): ((envelope: unknown) => string) => {
  const schema = Type.Object({ success: Type.Boolean(), data: output, requestId: Type.String() })
  return fastJson(schema as Parameters<typeof fastJson>[0])
})

/**
 * Writes the success envelope from the contract's schema: a member that no schema names never leaves the server. Where
 * the endpoint is `verbatim`, data is JSON already, and not a byte of it changes.
 */
function successSerializer(endpoint: Endpoint): (data: unknown, requestId: string) => string {
  if (endpoint.verbatim) return (data, requestId) => `{"success":true,"data":${data},"requestId":"${requestId}"}`
  return (data, requestId) => stringifierOf(endpoint)({ success: true, data, requestId })
}
