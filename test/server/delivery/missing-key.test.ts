import { expect, it, onTestFinished } from 'vitest'
import { WebhookSender } from '../../../src/server/delivery/sender.js'
import { DeliveryWorker } from '../../../src/server/delivery/worker.js'
import { DeliveryScene, until } from '../../support/server/deliveries.js'

it('worker that lacks the key of a webhook leaves further deliveries to other workers', async () => {
  const scene = await DeliveryScene.open({ started: false })
  const { store, clock } = scene.server.deps
  const key = { id: 'key_other', derive: new Uint8Array(32).fill(1), index: new Uint8Array(32).fill(2) }
  const errors: unknown[] = []
  const worker = new DeliveryWorker({
    ...{ store, clock, attempts: undefined, keys: { current: key, all: [key] } },
    sender: new WebhookSender({ loopbackPorts: scene.ports }),
    onError: (error) => errors.push(error),
  })
  await worker.start({ alone: false })
  onTestFinished(() => worker.stop(0))
  const receiver = await scene.receiver()
  await scene.set(receiver)
  await scene.ping()
  await until(async () => errors.length > 0)
  await scene.startWorker()
  const updates = [await scene.ping(), await scene.ping()]
  for (const update of updates) await scene.untilStatus(update, 'delivered')
  expect(errors.map(String)).toEqual([expect.stringContaining('is not in the key file')])
})
