import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../../src/contract/index.js'
import { type Campaign, type Run, spread } from '../campaign.js'
import { clerks, holdsCall, retryUnresolved, send } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { tenantAt } from '../server.js'
import { startWithTenant } from '../server-with-tenant.js'
import { walFrames } from '../wal-frames.js'

const CLIENTS = 16
const SMALL_QUOTA = 25

/** Maximum time from a start after a kill until the server accepts connections. */
const READY_MS_MAX = 2_000

/** Maximum of the random delay between a response and the kill, so that a kill can hit any work of the server. */
const LATER_MS_MAX = 20

export const kill: Campaign = {
  row: 'R1',
  name: 'kill -9 under write load of 16 clients, restart',
  tags: ['idempotency-keys/1', 'idempotency-keys/5', 'issue/1'],
  requirement: 'The server is killed after a random response. It is ready within 2 s, and retries succeed.',
  states: [
    'a call took effect without a response',
    'a call without a response had no effect',
    'a kill left several calls without a response',
    'a kill left committed transactions in the WAL',
    'a kill left an uncommitted tail in the WAL',
    'a retry was a replay',
    'a call was held when the server was killed',
    'a redemption was reversed',
    'a voucher was redeemed again after a reversal',
    'the quota of a template was exhausted',
  ],

  async run(run: Run) {
    const { quick, patience, random, folder, sometimes, say } = run
    const { first, templateId, callLog, dataDir, start, ...started } = await startWithTenant(run)
    let { server } = started
    const kills = quick ? 10 : 200
    const broken: string[] = []
    const readies: number[] = []

    for (let round = 0; round < kills && broken.length === 0; round++) {
      const tenant = tenantAt(server, first)
      const narrow = await tenant.template({ issue_limit: SMALL_QUOTA })
      const killedAfter = random.between(1, quick ? 200 : 600)
      const laterMs = random.below(LATER_MS_MAX)
      let responses = 0
      let killing: Promise<void> | undefined
      const killSoon = async () => {
        await wait(laterMs)
        // Asking delays the kill, which should also hit a writing server.
        if (laterMs % 4 === 0 && (await holdsCall(tenant))) sometimes.note('a call was held when the server was killed')
        await server.kill()
      }
      await clerks(CLIENTS, {
        tenant,
        callLog,
        random: random.of(`round ${round}`),
        name: `k${round}`,
        holdsFor: tenant,
        templateIds: [templateId, narrow.id],
        shouldContinue: () => true,
        onResponse: () => {
          responses += 1
          if (responses === killedAfter) killing = killSoon()
        },
      })
      await killing
      const { committed, uncommitted } = walFrames(join(dataDir, 'voucherctl.db-wal'))
      if (committed > 0) sometimes.note('a kill left committed transactions in the WAL')
      if (uncommitted > 0) sometimes.note('a kill left an uncommitted tail in the WAL')
      if (callLog.unresolved().length > 1) sometimes.note('a kill left several calls without a response')
      broken.push(...breachesOf(dataDir, folder, callLog))

      server = await start()
      readies.push(server.readyMs)
      if (server.readyMs > READY_MS_MAX * patience)
        broken.push(`ready again only after ${Math.round(server.readyMs)} ms`)
      const again = tenantAt(server, first)
      const wedged = await retryUnresolved(again, callLog)
      broken.push(...wedged.map(({ key }) => `${key} has no response after the restart`))
      // Repeats of the calls before the kill must get the same responses after the restart.
      const acknowledged = callLog.acknowledged().filter(({ key }) => key.includes(`-k${round}-`))
      await Promise.all(acknowledged.map((entry) => send(again, callLog, entry)))

      const fills = Array.from({ length: SMALL_QUOTA + 1 }, (_, n) => {
        const id = `fill-k${round}-${n}`
        const input = { template_id: narrow.id, external_issue_id: id, recipient_user_id: 'user' }
        return callLog.open(`issue-${id}`, 'issue', input)
      })
      await Promise.all(fills.map((entry) => send(again, callLog, entry)))
      const listed = (await again.runtime(contract.templates.list, { limit: 1 })).data.items[0]
      if (listed?.id !== narrow.id || listed.issuedCount !== SMALL_QUOTA) {
        broken.push(`the quota of ${SMALL_QUOTA} was used ${listed?.issuedCount} times`)
      }
      say(`kill ${round + 1} of ${kills}: ${callLog.acknowledged().length} acknowledged`)
    }
    await server.stop()
    broken.push(...breachesOf(dataDir, folder, callLog))
    return {
      facts: {
        kills: readies.length,
        acknowledged: callLog.acknowledged().length,
        'done without response': callLog.doneWithoutResponse,
        ready: spread(readies),
      },
      broken,
    }
  },
}
