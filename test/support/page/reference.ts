import type { EndpointId } from '../../../src/contract/index.js'
import { reference } from '../../../src/contract/openapi/reference.js'
import type { ReferenceEndpoint } from '../../../src/contract/platform/reference.js'

/** Every endpoint as the page reads it from a server. */
export const referenceEndpoints: readonly ReferenceEndpoint[] = reference().groups.flatMap((it) => it.endpoints)

export function referenceOf(id: EndpointId): ReferenceEndpoint {
  return referenceEndpoints.find((it) => it.id === id) as ReferenceEndpoint
}
