import { expect, it } from 'vitest'
import { inFolder } from '../support/server.js'
import { crashInDeliveries } from './delivery-crash-run.js'

it('kill -9 in the middle of 200 deliveries: every update arrives, under its id, and the schedule goes on', async () => {
  await expect(inFolder((dataDir) => crashInDeliveries(dataDir, 200, [120]))).resolves.toBeUndefined()
}, 60_000)
