import fastJson from 'fast-json-stringify'
import { Type } from '../contract/schema.js'
import type { Endpoint } from '../contract/endpoint.js'

type Stringify = (envelope: unknown) => string

/** Compiling takes milliseconds; servers of one process share the result. */
const compiled = new WeakMap<Endpoint, Stringify>()

function compile(endpoint: Endpoint): Stringify {
  const schema = Type.Object({ success: Type.Boolean(), data: endpoint.output, requestId: Type.String() })
  const stringify = fastJson(schema as Parameters<typeof fastJson>[0])
  compiled.set(endpoint, stringify)
  return stringify
}

/**
 * Writes the success envelope from the contract's schema: a member that no schema names never leaves the server. Where
 * the endpoint is `verbatim`, data is JSON already, and not a byte of it changes.
 */
export function successSerializer(endpoint: Endpoint): (data: unknown, requestId: string) => string {
  if (endpoint.verbatim) return (data, requestId) => `{"success":true,"data":${data},"requestId":"${requestId}"}`
  return (data, requestId) => (compiled.get(endpoint) ?? compile(endpoint))({ success: true, data, requestId })
}
