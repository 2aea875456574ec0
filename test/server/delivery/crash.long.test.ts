import { expect, it } from 'vitest'
import { inFolder } from '../../support/server.js'
import { crashInDeliveries } from './crash-run.js'

it('3 kills in the middle of 1,000 deliveries: every update arrives, under its id, and the schedule goes on', async () => {
  const killedAfter = [150, 400, 750]
  await expect(inFolder((dataDir) => crashInDeliveries(dataDir, 1_000, killedAfter))).resolves.toBeUndefined()
}, 90_000)
