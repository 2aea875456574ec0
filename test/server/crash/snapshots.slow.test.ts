import { expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type ServerChild, startServerChild } from '../../support/server/child.js'
import { callerOf } from '../../support/server/client.js'
import { inFolder } from '../../support/server/server.js'
import { newTenant } from '../../support/server/tenant.js'

it('a server killed while it changes snapshots keeps acknowledged ones', { tags: 'snapshots/3' }, async () => {
  await inFolder(async (folder) => {
    let server: ServerChild = await startServerChild(folder)
    const tenant = await newTenant(server)
    const template = await tenant.template()
    for (let count = 0; count < 50; count++) await tenant.issue(template.id)
    const acknowledged = new Set(['kept'])
    await tenant.operator(contract.platform.saveSnapshot, { name: 'kept' })
    for (let round = 0; round < 6; round++) {
      const operate = callerOf(server.send, server.operatorKey)
      let [begun, done] = [0, 0]
      let killing: Promise<void> | undefined
      // Another save is in flight when the server is killed after a response.
      const save = async () => {
        while (killing === undefined) {
          const name = `round-${round}-${begun++ % 3}`
          await operate(contract.platform.saveSnapshot, { name })
          acknowledged.add(name)
          done += 1
          if (done > round) killing ??= server.kill()
        }
      }
      const restoreAndRemove = async () => {
        while (killing === undefined) {
          await operate(contract.platform.restoreSnapshot, { name: 'kept' })
          await operate(contract.platform.saveSnapshot, { name: 'passing' })
          await operate(contract.platform.removeSnapshot, { name: 'passing' })
        }
      }
      await Promise.allSettled([save(), save(), restoreAndRemove()])
      await killing
      server = await startServerChild(folder)
      const again = callerOf(server.send, server.operatorKey)
      const { items } = (await again(contract.platform.snapshots, {})).data
      expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining([...acknowledged]))
      for (const { name } of items) {
        expect((await again(contract.platform.restoreSnapshot, { name })).data.vouchers).toBe(50)
        expect((await callerOf(server.send, tenant.token)(contract.templates.list, {})).data.items).toHaveLength(1)
      }
    }
    await server.kill()
  })
})
