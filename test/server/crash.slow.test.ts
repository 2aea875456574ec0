import { expect, it } from 'vitest'
import { inFolder } from '../support/server.js'
import { crashRounds } from './crash-rounds.js'

it('8 kills, from the first response to the 150th, lose and double nothing', async () => {
  await expect(inFolder((dataDir) => crashRounds(dataDir, [1, 2, 3, 7, 20, 45, 90, 150]))).resolves.toBeUndefined()
}, 60_000)
