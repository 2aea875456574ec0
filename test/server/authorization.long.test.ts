import { afterAll, beforeAll, expect, it } from 'vitest'
import { endpoints } from '../../src/contract/index.js'
import { closeGrid, openGrid, tryRoute } from './authorization-grid.js'

beforeAll(openGrid)
afterAll(closeGrid)

it.each(endpoints.map((it) => [it.id, it] as const))(
  '%s refuses every credential of another kind the same for every object, over every transport',
  async (_id, endpoint) => {
    expect(await tryRoute(endpoint, 'rest')).toEqual([])
  },
)
