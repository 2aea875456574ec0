import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../src/contract/index.js'
import type { IssuedVoucher } from '../../src/contract/vouchers.js'
import type { PostgresPair } from '../support/postgres/pair.js'
import type { PostgresServer } from '../support/postgres/server.js'
import type { Gate } from '../support/server/tcp-gate.js'
import { codeOf, type Tenant } from '../support/server/tenant.js'
import type { CallLog } from './call-log.js'
import type { Run } from './campaign.js'
import { clerks, send } from './clients.js'
import type { Fleet, Place } from './fleet.js'
import type { FleetBots } from './fleet-bots.js'
import { Refused, type Server, tenantAt } from './server.js'

const CLIENTS_EACH = 8
const AGAIN_MS = 200
const MIGRATED_MS_MAX = 60_000

/** The proxy through which the servers connect, and the database behind it. */
export interface Database {
  primary: PostgresServer
  pair?: PostgresPair
  readonly gate: Gate
}

/** What the rounds share. */
export interface Scene {
  readonly run: Run
  readonly database: Database
  readonly fleet: Fleet
  readonly first: Tenant
  readonly bots: FleetBots
  readonly start: () => Promise<Server>
  readonly templateId: string
  /** A template of which the vouchers are only verified. */
  readonly verifiedId: string
  readonly env: Readonly<Record<string, string>>
  readonly recoveries: number[]
  readonly broken: string[]
  readonly callLog: CallLog
  /** Calls and seconds before the faults. */
  readonly load: { calls: number; seconds: number }
}

/** Starts all clients: of vouchers in plain and encrypted calls, of verifications, and of bots. */
export function startLoad(scene: Scene, name: string, templateIds: readonly string[]) {
  const { run, fleet, first, callLog, bots } = scene
  let over = false
  const shouldContinue = () => !over
  const clientsAt = async (place: Place) => {
    const work = { callLog, random: run.random.of(`${name}-${place}`), templateIds, shouldContinue }
    const id = `${name}-${place}-verified`
    const issue = { template_id: scene.verifiedId, external_issue_id: id, recipient_user_id: 'user' }
    const verify = async () => {
      const issued = await send(fleet.at(place, first), callLog, callLog.open(`issue-${id}`, 'issue', issue))
      const credential = codeOf(issued?.data as IssuedVoucher)
      while (!over) {
        const { data } = await fleet.at(place, first).runtime(contract.vouchers.verify, { credential })
        if (!data.redeemable) fleet.wrong.push(`a voucher that nobody redeemed is ${data.reason}`)
      }
    }
    await Promise.all([
      clerks(CLIENTS_EACH, { ...work, tenant: fleet.at(place, first), name: `${name}-${place}` }),
      clerks(1, { ...work, tenant: fleet.at(place, first, fleet.encrypted(place)), name: `${name}-${place}s` }),
      verify(),
    ])
  }
  const running = Promise.all([clientsAt(0), clientsAt(1), bots.run(name, shouldContinue)])
  running.catch(() => {})
  return {
    end: async () => {
      over = true
      await running
    },
  }
}

/** Starts a further server; until the database is back, it may end with a message that says so. */
export async function startDuring({ run, fleet, start, first }: Scene): Promise<void> {
  for (;;) {
    try {
      const server = await start()
      await tenantAt({ send: server.send, operatorKey: '' }, first).runtime(contract.templates.list, {})
      await server.stop()
      return run.sometimes.note('a server started during a failover')
    } catch (error) {
      if (!(error instanceof Refused) || !error.stderr.includes('DATABASE_UNREACHABLE')) throw error
      run.sometimes.note('a server refused to start without a primary')
      if (fleet.isOver) return
      await wait(AGAIN_MS)
    }
  }
}

/** Migrates another schema; until the database is back, the command may fail and must change nothing. */
export async function migrateDuring({ run, fleet, env }: Scene, number: number): Promise<void> {
  const program = join(run.root, 'bin', 'voucherctl.js')
  const limits = { timeout: MIGRATED_MS_MAX, killSignal: 'SIGKILL' } as const
  const options = { ...limits, env: { ...process.env, ...env, PGOPTIONS: `-c search_path=migrated_${number}` } }
  for (;;) {
    const child = spawn(process.execPath, [program, 'server', 'migrate', '--json'], options)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk))
    const [code] = await once(child, 'close')
    if (code === 0) return run.sometimes.note('a migration ran during a failover')
    if (!output.includes('DATABASE_UNREACHABLE')) throw new Error(`the migration failed: ${output}`)
    run.sometimes.note('a migration failed without a primary')
    if (fleet.isOver) return
    await wait(AGAIN_MS)
  }
}
