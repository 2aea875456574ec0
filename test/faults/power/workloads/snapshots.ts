import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { contract } from '../../../../src/contract/index.js'
import { startServer as startInProcess } from '../../../../src/server/listen.js'
import { callerOf, sendTo } from '../../../support/server/client.js'
import { newTenant } from '../../../support/server/tenant.js'
import { startServer } from '../../server.js'
import { readStored } from '../../stored.js'
import type { Workload } from '../workload.js'

interface Acknowledged {
  readonly operatorKey?: string
  readonly saved?: string
  /** Vouchers in the snapshot of that name. */
  readonly vouchers?: number
}

/** A server saves two snapshots, replaces one of them with a larger state, and is killed. */
export const snapshots: Workload = {
  name: 'snapshots',

  async record({ root, disk, acknowledge }) {
    const server = await startServer(root, join(disk, 'data'))
    acknowledge({ operatorKey: server.operatorKey })
    const tenant = await newTenant(server)
    const { id } = await tenant.template()
    for (const name of ['one', 'two', 'one', 'one']) {
      await tenant.issue(id)
      const { data } = await tenant.operator(contract.platform.saveSnapshot, { name })
      acknowledge({ saved: name, vouchers: data.vouchers })
    }
    await server.kill()
  },

  async open() {
    const agent = new http.Agent()
    return {
      async check(state, acknowledged: readonly Acknowledged[]) {
        if (acknowledged.length === 0) return []
        const dataDir = join(state, 'data')
        const kept = new Map(acknowledged.map(({ saved = '', vouchers = 0 }) => [saved, vouchers]))
        const broken: string[] = []
        for (const name of ['one', 'two']) {
          const running = await startInProcess({ dataDir, port: 0, logLevel: 'silent' })
          const operatorKey = readFileSync(running.operatorKeyFile as string, 'utf8').trim()
          const operate = callerOf(sendTo(running.baseUrl, agent), operatorKey)
          const restored = await operate(contract.platform.restoreSnapshot, { name })
          await running.close()
          if (restored.status !== 200) {
            if (kept.has(name) || restored.code !== 'SNAPSHOT_NOT_FOUND') broken.push(`${name} got ${restored.code}`)
            continue
          }
          const { vouchers } = restored.data
          if (vouchers < (kept.get(name) ?? 0)) broken.push(`an older ${name} with ${vouchers} vouchers came back`)
          const stored = readStored(dataDir, state)
          if (stored.integrity !== 'ok' || stored.vouchers.length !== vouchers) broken.push(`${name} is not whole`)
        }
        return broken
      },
      close: async () => agent.destroy(),
    }
  },

  syncs: [
    { call: 'store/sqlite/file-snapshots.ts', what: 'a snapshot', path: /^data\/voucherctl\.db\.snapshots\/draft$/ },
    { call: 'store/sqlite/file-snapshots.ts', what: 'its name', path: /^data\/voucherctl\.db\.snapshots$/ },
  ],
}
