import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Tenant } from '../../support/server/tenant.js'
import { type Campaign, type Run, spread } from '../campaign.js'
import { clerk, holdsCall } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { tenantAt } from '../server.js'
import { startWithTenant } from '../server-with-tenant.js'
import { walFrames } from '../wal-frames.js'

const CLIENTS = 16

export const sigterm: Campaign = {
  row: 'R13',
  name: 'SIGTERM under load of 16 clients',
  tags: ['connections/3'],
  requirement: 'SIGTERM arrives under load. Every request gets a response, the exit code is 0, and no journal remains.',
  states: [
    'a call was acknowledged after the signal',
    'a call was held at the signal',
    'a response closed its connection',
    'the WAL had transactions before the stop',
    'a redemption was reversed',
  ],

  async run(run: Run) {
    const { quick, random, folder, sometimes, say } = run
    const { first, templateId, callLog, dataDir, start, ...started } = await startWithTenant(run)
    let { server } = started
    const broken: string[] = []
    const ends: number[] = []
    let signalledAt = 0
    const stops = quick ? 3 : 50
    const stop = async (tenant: Tenant) => {
      if (await holdsCall(tenant)) sometimes.note('a call was held at the signal')
      signalledAt = performance.now()
      return server.stop()
    }
    for (let round = 0; round < stops && broken.length === 0; round++) {
      const stopAfter = random.between(CLIENTS, 300)
      let responses = 0
      let stopped: Promise<number | null> | undefined
      const work = async (client: number) => {
        // One keep-alive connection per client, so that no request follows a response with `Connection: close`.
        const line = server.line()
        let closed = false
        const name = `x${round}-c${client}`
        await clerk({
          tenant: tenantAt({ send: line.send, operatorKey: server.operatorKey }, first),
          callLog,
          random: random.of(name),
          name,
          templateIds: [templateId],
          // Its responses on the line of the client could close that line.
          holdsFor: tenantAt(server, first),
          oneAtATime: true,
          shouldContinue: () => !closed,
          onResponse({ headers, status }) {
            if (headers.connection === 'close') sometimes.note('a response closed its connection')
            if (stopped !== undefined && status < 300) sometimes.note('a call was acknowledged after the signal')
            closed ||= headers.connection === 'close'
            responses += 1
            if (responses !== stopAfter) return
            const { committed } = walFrames(join(dataDir, 'voucherctl.db-wal'))
            if (committed > 0) sometimes.note('the WAL had transactions before the stop')
            stopped = stop(tenantAt(server, first))
          },
        })
        line.close()
        if (!closed) broken.push(`${name}: its connection ended under a request`)
      }
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => work(client)))
      const exit = await stopped
      ends.push(performance.now() - signalledAt)
      if (exit !== 0) broken.push(`it ended with ${exit}`)
      if (existsSync(join(dataDir, 'voucherctl.db-wal'))) broken.push('it left its journal behind')
      broken.push(...callLog.unresolved().map(({ key }) => `${key} had no response`))
      broken.push(...breachesOf(dataDir, folder, callLog))
      server = await start()
      say(`stop ${round + 1} of ${stops}`)
    }
    await server.stop()
    return { facts: { stops, acknowledged: callLog.acknowledged().length, 'to its end': spread(ends) }, broken }
  },
}
