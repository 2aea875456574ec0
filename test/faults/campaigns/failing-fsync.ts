import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { ApiResponse } from '../../support/server/client.js'
import type { Campaign, Run } from '../campaign.js'
import { clerks, retryUnresolved } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { tenantAt } from '../server.js'
import { startWithTenant } from '../server-with-tenant.js'
import { checkReads } from './full-disk.js'

/** Makes every fsync of the process fail until `stop()`, or returns the reason if strace may not attach. */
async function failFsync(pid: number): Promise<{ stop(): Promise<void> } | { skipped: string }> {
  const calls = 'fsync,fdatasync'
  const args = ['-f', '-p', String(pid), '-e', `trace=${calls}`, '-e', `inject=${calls}:error=EIO`, '-o', '/dev/null']
  const strace: ChildProcess = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  strace.stderr?.on('data', (chunk: Buffer) => {
    said += chunk
  })
  const gone = new Promise<void>((resolve) => strace.once('close', () => resolve()))
  while (strace.exitCode === null && !/attached/.test(said)) await wait(20)
  if (strace.exitCode !== null) return { skipped: `strace cannot attach to a process: ${said.trim()}` }
  return {
    async stop() {
      strace.kill('SIGINT')
      await gone
    },
  }
}

const hashOf = (path: string) =>
  existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'absent'

const READS = 'a voucher was verified after a failed fsync'

export const failingFsync: Campaign = {
  row: 'R5',
  name: 'fsync fails (strace)',
  tags: ['health-routes/1', 'idempotency-keys/1'],
  requirement: 'Every fsync fails. Writes get 503 until the restart.',
  states: [
    'a write was refused while fsync failed',
    'a write was refused after a failed fsync',
    READS,
    '/readyz returned 503 after a failed fsync',
    'a refused write took effect after the restart',
  ],

  async run(run: Run) {
    if (spawnSync('strace', ['-V']).status !== 0) return { skipped: 'strace is not installed' }
    const { quick, random, folder, sometimes } = run
    const { first, templateId, callLog, dataDir, start, ...started } = await startWithTenant(run)
    let { server } = started
    const broken: string[] = []
    let refusals = 0

    const rounds = quick ? 1 : 20
    for (let round = 0; round < rounds && broken.length === 0; round++) {
      const tenant = tenantAt(server, first)
      const injectAfter = random.between(10, 100)
      let responses = 0
      let seen = 0
      let injected: Awaited<ReturnType<typeof failFsync>> | undefined
      let injecting: Promise<void> | undefined
      const inject = async () => {
        injected = await failFsync(server.pid)
      }
      const deadline = performance.now() + 30_000
      await clerks(8, {
        tenant,
        callLog,
        random: random.of(`round ${round}`),
        name: `s${round}`,
        templateIds: [templateId],
        shouldContinue: () =>
          seen < 30 && performance.now() < deadline && !(injected !== undefined && 'skipped' in injected),
        onResponse(response: ApiResponse) {
          responses += 1
          if (responses === injectAfter) injecting = inject()
          if (response.status < 500) return
          seen += 1
          if (response.status !== 503) broken.push(`a write whose fsync failed got ${response.status} ${response.text}`)
        },
      })
      await injecting
      if (injected === undefined) throw new Error('the load ended before fsync failed')
      if ('skipped' in injected) {
        await server.stop()
        return injected
      }
      if (seen === 0) broken.push('no write was refused while fsync failed')
      await injected.stop()

      // Even when fsync works again, the server must write nothing: after a failed fsync the disk content is unknown.
      const files = ['voucherctl.db', 'voucherctl.db-wal'].map((name) => join(dataDir, name))
      const before = files.map(hashOf)
      let late = 0
      await clerks(8, {
        tenant,
        callLog,
        random: random.of(`after ${round}`),
        name: `t${round}`,
        templateIds: [templateId],
        shouldContinue: () => late < 30,
        onResponse({ status }: ApiResponse) {
          late += 1
          if (status !== 503) broken.push(`after a failed fsync a write got ${status}`)
        },
      })
      refusals += seen + late
      sometimes.note('a write was refused while fsync failed', seen)
      sometimes.note('a write was refused after a failed fsync', late)
      if (files.map(hashOf).join() !== before.join()) broken.push('the files changed after a failed fsync')
      broken.push(...(await checkReads(tenant, callLog, READS)))
      const ready = await server.send({ method: 'GET', path: '/readyz' })
      if (ready.status === 503) sometimes.note('/readyz returned 503 after a failed fsync')
      else broken.push(`/readyz says ${ready.status} after a failed fsync`)

      await server.stop()
      server = await start()
      const unresolved = callLog.unresolved().length
      const wedged = await retryUnresolved(tenantAt(server, first), callLog)
      sometimes.note('a refused write took effect after the restart', unresolved - wedged.length)
      broken.push(...wedged.map(({ key }) => `${key} has no response after the restart`))
    }
    await server.stop()
    broken.push(...breachesOf(dataDir, folder, callLog))
    return {
      facts: { rounds, 'writes refused': refusals, acknowledged: callLog.acknowledged().length },
      broken,
    }
  },
}
