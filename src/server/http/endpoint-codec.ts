import { Readable } from 'node:stream'
import fastJson from 'fast-json-stringify'
import type { Endpoint } from '../../contract/endpoint.js'
import type { ValidationIssue } from '../../contract/envelope.js'
import { type ObjectSchema, Type } from '../../contract/schema.js'
import { lazyValidator, oncePer } from './schema-validator.js'

/** Input validator and output serialiser of an endpoint, compiled from its schemas. */
export interface EndpointCodec {
  /** Returns the issues; null when params, query and body are valid. */
  validate(params: unknown, query: unknown, body: unknown): ValidationIssue[] | null
  /** Serialises the success envelope; not for streaming endpoints. */
  write(data: unknown, requestId: string): string | Readable
}

/** Creates the codec of an endpoint. Import this module lazily: the schema compilers take 30 ms to load. */
export function codecOf(endpoint: Endpoint, query: ObjectSchema): EndpointCodec {
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
 * Serialises the success envelope by the contract's schema, so members outside the schema never leave the server. A
 * `verbatim` endpoint returns data as JSON text, which stays unchanged; pieces of it are sent as the client reads them.
 */
function successSerializer(endpoint: Endpoint): EndpointCodec['write'] {
  if (endpoint.verbatim) {
    return (data, requestId) => {
      const [start, end] = ['{"success":true,"data":', `,"requestId":"${requestId}"}`]
      return typeof data === 'string'
        ? start + data + end
        : Readable.from(joined(start, data as AsyncIterable<string>, end))
    }
  }
  return (data, requestId) => stringifierOf(endpoint)({ success: true, data, requestId })
}

async function* joined(start: string, pieces: AsyncIterable<string>, end: string): AsyncGenerator<string> {
  yield start
  yield* pieces
  yield end
}
