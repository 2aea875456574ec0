import { afterAll, beforeAll, expect, it } from 'vitest'
import { endpoints } from '../../../src/contract/index.js'
import { closeGrid, openGrid, tryRoute } from './grid.js'

beforeAll(openGrid)
afterAll(closeGrid)

it.each(endpoints.map((it) => [it.id, it] as const))(
  '%s responds to the rest of the authorization grid as the authorization table says',
  { tags: ['scopes/1', 'credential-kinds/1', 'tenants/1', 'required-encryption/1'] },
  async (_id, endpoint) => {
    expect(await tryRoute(endpoint, 'rest')).toEqual([])
  },
)
