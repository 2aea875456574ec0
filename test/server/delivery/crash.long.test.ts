import { expect, it } from 'vitest'
import { inFolder } from '../../support/server/server.js'
import { crashInDeliveries } from './crash-run.js'

it('server killed 3 times during 1,000 deliveries delivers every update and continues retries', async () => {
  const killedAfter = [150, 400, 750]
  await expect(inFolder((dataDir) => crashInDeliveries(dataDir, 1_000, killedAfter))).resolves.toBeUndefined()
}, 90_000)
