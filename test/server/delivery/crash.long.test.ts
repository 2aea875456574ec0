import { expect, it } from 'vitest'
import { inFolder } from '../../support/server.js'
import { crashInDeliveries } from './crash-run.js'

it('3 kills during 1,000 deliveries lose no update, keep its id and continue the retries', async () => {
  const killedAfter = [150, 400, 750]
  await expect(inFolder((dataDir) => crashInDeliveries(dataDir, 1_000, killedAfter))).resolves.toBeUndefined()
}, 90_000)
