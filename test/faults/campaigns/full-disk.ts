import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { contract } from '../../../src/contract/index.js'
import type { IssuedVoucher } from '../../../src/contract/vouchers.js'
import type { ApiResponse } from '../../support/server/client.js'
import { codeOf, type Tenant } from '../../support/server/tenant.js'
import { fill, mountSmall } from '../../support/small-disk.js'
import type { CallLog } from '../call-log.js'
import { type Campaign, type Run, spread } from '../campaign.js'
import { clerks, retryUnresolved, send } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { killServers, Refused, tenantAt } from '../server.js'
import { startWithTenant } from '../server-with-tenant.js'

const DISK_MIB = 24
const RECOVERY_MS_MAX = 5_000
const REFUSALS_MIN = 40
const READS = 'a voucher was verified on the full disk'

export const fullDisk: Campaign = {
  row: 'R5',
  name: 'disk full',
  tags: ['failure-codes/3', 'idempotency-keys/1'],
  requirement: 'The disk is full. Writes get 503, and reads continue. With space, writes succeed within 5 s.',
  states: [
    'a write took effect on the almost full disk',
    'a write was refused on the full disk',
    READS,
    'a refused write took effect once there was space',
    'a retry was a replay',
  ],

  async run(run: Run) {
    const { quick, patience, random, folder, sometimes, say } = run
    const disk = join(folder, 'disk')
    const mounted = mountSmall(disk, DISK_MIB)
    if ('skipped' in mounted) return mounted
    try {
      const { first, templateId, callLog, dataDir, start, ...started } = await startWithTenant(run, join(disk, 'data'))
      let { server } = started
      const broken: string[] = []
      const recoveries: number[] = []
      let refusals = 0
      let restartedFull = 0

      const rounds = quick ? 2 : 20
      const recoveryMsMax = RECOVERY_MS_MAX * patience
      for (let round = 0; round < rounds && broken.length === 0; round++) {
        const tenant = tenantAt(server, first)
        const ballast = fill(disk, random.between(0, 300))
        let seen = 0
        const onResponse = (response: ApiResponse) => {
          if (response.status < 500) return void sometimes.note('a write took effect on the almost full disk')
          seen += 1
          sometimes.note('a write was refused on the full disk')
          if (response.status !== 503 || response.code !== 'SERVICE_UNAVAILABLE' || !response.headers['retry-after']) {
            broken.push(`a write on the full disk got ${response.status} ${response.text}`)
          }
        }
        const name = `f${round}`
        const deadline = performance.now() + 60_000
        const shouldContinue = () => seen < REFUSALS_MIN && performance.now() < deadline
        await clerks(8, {
          tenant,
          callLog,
          random: random.of(name),
          name,
          templateIds: [templateId],
          shouldContinue,
          onResponse,
        })
        if (seen < REFUSALS_MIN) broken.push(`only ${seen} writes were refused on the full disk`)
        refusals += seen
        broken.push(...(await checkReads(tenant, callLog, READS)))

        // Every second round kills the server and restarts it while the disk is full.
        if (round % 2 === 1) {
          await server.kill()
          broken.push(...breachesOf(dataDir, folder, callLog))
          try {
            server = await start()
            restartedFull += 1
            sometimes.note('a killed server started on the full disk')
            broken.push(...(await checkReads(tenantAt(server, first), callLog, READS)))
            rmSync(ballast)
          } catch (error) {
            if (!(error instanceof Refused)) throw error
            if (!/full|space|ENOSPC/i.test(error.stderr)) broken.push(`refused on a full disk: ${error.stderr}`)
            rmSync(ballast)
            server = await start()
          }
        } else rmSync(ballast)

        const freedAt = performance.now()
        const again = tenantAt(server, first)
        const unresolved = callLog.unresolved().length
        const wedged = await retryUnresolved(again, callLog, recoveryMsMax)
        sometimes.note('a refused write took effect once there was space', unresolved - wedged.length)
        const repeated = callLog.acknowledged().slice(-20)
        await Promise.all(repeated.map((entry) => send(again, callLog, entry)))
        recoveries.push(performance.now() - freedAt)
        broken.push(...wedged.map(({ key }) => `${key} has no response ${recoveryMsMax / 1000} s after there is space`))
        say(`full ${round + 1} of ${rounds}`)
      }
      await server.stop()
      broken.push(...breachesOf(dataDir, folder, callLog))
      return {
        facts: {
          'times full': rounds,
          'writes refused': refusals,
          acknowledged: callLog.acknowledged().length,
          'started on the full disk': restartedFull,
          recovery: spread(recoveries),
        },
        broken,
      }
    } finally {
      await killServers()
      mounted.unmount()
    }
  },
}

/** Checks that vouchers can be verified and lists read; returns the violations. @param state counted for each voucher */
export async function checkReads(tenant: Tenant, callLog: CallLog, state: string): Promise<string[]> {
  const broken: string[] = []
  const issued = callLog.acknowledged().filter(({ action }) => action === 'issue')
  for (const { key, acknowledged } of issued.slice(-20)) {
    const issued = acknowledged.data as IssuedVoucher
    const response = await tenant.runtime(contract.vouchers.verify, { credential: codeOf(issued) })
    if (response.status !== 200 || response.data.voucher.id !== issued.id) {
      broken.push(`verify of ${key} got ${response.status} ${response.text}`)
    } else callLog.sometimes.note(state)
  }
  const list = await tenant.runtime(contract.templates.list, {})
  if (list.status !== 200) broken.push(`the list of templates got ${list.status}`)
  return broken
}
