import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { contract } from '../../../../src/contract/index.js'
import { startServer as startInProcess } from '../../../../src/server/listen.js'
import { callerOf, sendTo } from '../../../support/server/client.js'
import { newTenant } from '../../../support/server/tenant.js'
import { CallLog, type Entry } from '../../call-log.js'
import { clerks } from '../../clients.js'
import { breachesIn, differences } from '../../invariants.js'
import { Random } from '../../random.js'
import { startServer, tenantAt } from '../../server.js'
import { readStored } from '../../stored.js'
import type { Workload } from '../workload.js'

const CALLS = 120

interface Acknowledged {
  /** Idempotency key of a successful call, from the call log. */
  readonly key?: string
  readonly status?: number
  readonly token?: string
  readonly operatorKey?: string
  readonly pins?: readonly string[]
}

/** The server issues, redeems and reverses, replaces its transport keys, stops, starts again and is killed. */
export const server: Workload = {
  name: 'server',

  async record({ root, disk, notes, acknowledge }) {
    const dataDir = join(disk, 'data')
    const callLog = new CallLog(join(notes, 'acknowledged.ndjson'))
    let running = await startServer(root, dataDir)
    acknowledge({ operatorKey: running.operatorKey })
    const tenant = await newTenant(running)
    const { id } = await tenant.template({ issue_limit: 1_000_000 })
    acknowledge({ token: tenant.token })
    for (const round of [0, 1]) {
      let responses = 0
      await clerks(4, {
        tenant: tenantAt(running, tenant),
        callLog,
        random: new Random(`recording ${round}`),
        name: `p${round}`,
        templateIds: [id],
        shouldContinue: () => responses < CALLS,
        onResponse: () => void (responses += 1),
      })
      if (round === 1) break
      const { items } = (await tenant.operator(contract.platform.rotateSecureKeys, {})).data
      acknowledge({ pins: items.filter(({ state }) => state !== 'grace').map(({ pin }) => pin) })
      await running.stop()
      running = await startServer(root, dataDir)
    }
    await running.kill()
    writeFileSync(join(notes, 'entries.json'), JSON.stringify(callLog.entries()))
  },

  async open({ notes }) {
    let entries: Entry[] | undefined
    const agent = new http.Agent()
    return {
      async check(state, acknowledged: readonly Acknowledged[]) {
        entries ??= JSON.parse(readFileSync(join(notes, 'entries.json'), 'utf8')) as Entry[]
        const dataDir = join(state, 'data')
        const broken: string[] = []
        const running = await startInProcess({ dataDir, port: 0, logLevel: 'silent', rateLimits: 'off' })
        try {
          const operatorKey = readFileSync(running.operatorKeyFile as string, 'utf8').trim()
          const send = sendTo(running.baseUrl, agent)
          for (const it of acknowledged) {
            if (it.operatorKey !== undefined && it.operatorKey !== operatorKey) broken.push('the operator key is lost')
            if (it.token !== undefined) {
              const { status } = await callerOf(send, it.token)(contract.templates.list, {})
              if (status !== 200) broken.push(`the token is refused with ${status}`)
            }
            if (it.pins !== undefined) {
              const { items } = (await callerOf(send, operatorKey)(contract.platform.secureKeys, {})).data
              if (!it.pins.every((pin) => items.some((key) => key.pin === pin))) broken.push('a transport key is lost')
            }
          }
        } finally {
          await running.close()
        }
        const done = new Set(acknowledged.filter(({ status = 500 }) => status < 300).map(({ key }) => key))
        const stored = readStored(dataDir, state)
        const calls = entries.flatMap((it) =>
          it.acknowledged === null ? [] : [{ ...it, acknowledged: it.acknowledged }],
        )
        const log = {
          wrongResponses: () => [],
          entries: () => calls,
          acknowledged: () => calls.filter(({ key }) => done.has(key)),
        }
        return [...broken, ...breachesIn(stored), ...differences(log, stored)]
      },
      close: async () => agent.destroy(),
    }
  },

  syncs: [
    { call: 'cli/config/data-folder.ts', what: 'a new data folder', path: /^$/ },
    { call: 'files/replace-file.ts', what: 'a new keys.json', path: /^data\/keys\.json\.tmp-/ },
    { call: 'files/replace-file.ts', what: 'secure-keys.json', path: /^data\/secure-keys\.json\.tmp-/ },
    { call: 'files/replace-file.ts', what: 'new names in the data folder', path: /^data$/ },
    { call: 'SQLite', what: 'the journal (synchronous = full)', path: /\.db-wal$/ },
    { call: 'SQLite', what: 'the database at a checkpoint', path: /\.db$/ },
  ],
}
