import fastJson from 'fast-json-stringify'
import type { Endpoint } from '../../contract/endpoint.js'
import { Type } from '../../contract/schema.js'
import { oncePer } from './once-per.js'

const stringifierOf = oncePer(({ output }: Endpoint): ((envelope: unknown) => string) => {
  const schema = Type.Object({ success: Type.Boolean(), data: output, requestId: Type.String() })
  return fastJson(schema as Parameters<typeof fastJson>[0])
})

/**
 * Writes the success envelope from the contract's schema: a member that no schema names never leaves the server. Where
 * the endpoint is `verbatim`, data is JSON already, and not a byte of it changes.
 */
export function successSerializer(endpoint: Endpoint): (data: unknown, requestId: string) => string {
  if (endpoint.verbatim) return (data, requestId) => `{"success":true,"data":${data},"requestId":"${requestId}"}`
  return (data, requestId) => stringifierOf(endpoint)({ success: true, data, requestId })
}
