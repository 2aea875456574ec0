// Child process of P15: measures the server of voucherctl/testing, in ms. Responds to one message.
import process from 'node:process'
import { median } from '../median.js'

const VOUCHERS = 10_000
const STARTS = 10

process.once('message', async () => {
  const timed = async (work) => {
    const startedAt = performance.now()
    const value = await work()
    return [performance.now() - startedAt, value]
  }
  const medianOf = async (work) => {
    const all = []
    for (let n = 0; n < STARTS; n++) all.push(await work())
    return median(all)
  }
  const [first, server] = await timed(async () => {
    const { startServer } = await import('../../../dist/testing/index.js')
    return startServer()
  })
  const { startServer } = await import('../../../dist/testing/index.js')
  const further = await medianOf(async () => {
    const [ms, another] = await timed(() => startServer())
    await another.close()
    return ms
  })
  let issued = 0
  const issue = async () => {
    const order = { template_id: 'tpl_coffee', external_issue_id: `order-${issued++}`, recipient_user_id: 'user-1' }
    const result = await server.client.vouchers.issue(order)
    if (!result.ok) throw new Error(result.code)
  }
  const reset = await medianOf(async () => {
    await issue()
    const [ms] = await timed(() => server.reset())
    return ms
  })
  while (issued < STARTS + VOUCHERS) await Promise.all(Array.from({ length: 100 }, issue))
  const restores = []
  const snapshot = await medianOf(async () => {
    const [ms, saved] = await timed(() => server.snapshot())
    await issue()
    restores.push((await timed(() => server.restore(saved)))[0])
    return ms
  })
  await server.close()
  process.send({ first, further, reset, snapshot, restore: median(restores) })
})
