import fastJson from 'fast-json-stringify'
import { Type } from '../contract/schema.js'
import type { Endpoint } from '../contract/endpoint.js'

/**
 * Writes the success envelope from the contract's schema: a member that no schema names never leaves the server. Where
 * the endpoint is `verbatim`, data is JSON already, and not a byte of it changes.
 */
export function successSerializer(endpoint: Endpoint): (data: unknown, requestId: string) => string {
  if (endpoint.verbatim) return (data, requestId) => `{"success":true,"data":${data},"requestId":"${requestId}"}`
  let stringify: ((envelope: unknown) => string) | undefined
  return (data, requestId) => {
    stringify ??= fastJson(
      Type.Object({ success: Type.Boolean(), data: endpoint.output, requestId: Type.String() }) as Parameters<
        typeof fastJson
      >[0],
    )
    return stringify({ success: true, data, requestId })
  }
}
