import type { Endpoint } from '../../contract/endpoint.js'
import type { ValidationIssue } from '../../contract/envelope.js'
import type { ObjectSchema } from '../../contract/schema.js'

/** What comes in and what goes out, by the schemas of an endpoint. */
export interface Form {
  /** Null when params, query and body fit. */
  validate(params: unknown, query: unknown, body: unknown): ValidationIssue[] | null
  /** The success envelope; for an endpoint that streams there is none. */
  write(data: unknown, requestId: string): string
}

/** Loads the libraries that schemas are compiled with: with the first call, not with the server, since they take 30 ms. */
export async function loadForm(endpoint: Endpoint, query: ObjectSchema): Promise<Form> {
  const [{ lazyValidator }, { successSerializer }] = await Promise.all([
    import('./validation.js'),
    import('./serializer.js'),
  ])
  const validateParams = endpoint.params === undefined ? undefined : lazyValidator(endpoint.params)
  const validateQuery = lazyValidator(query)
  const validateBody = endpoint.body === undefined ? undefined : lazyValidator(endpoint.body)
  return {
    validate: (params, queryInput, body) =>
      validateParams?.(params) ?? validateQuery(queryInput) ?? validateBody?.(body) ?? null,
    write: successSerializer(endpoint),
  }
}
