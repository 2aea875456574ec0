import fastJson from 'fast-json-stringify'
import * as Type from 'typebox'
import type { Endpoint } from '../contract/endpoint.js'

/** Writes the success envelope from the contract's schema: a member that no schema names never leaves the server. */
export function successSerializer(endpoint: Endpoint): (data: unknown, requestId: string) => string {
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
