import { existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { signWebhook } from '../../../../src/webhook/signature.js'
import { Inbox } from '../../../../src/workbench/inbox.js'
import { InboxWriter } from '../../../../src/workbench/inbox-writer.js'
import { sendTo } from '../../../support/server/client.js'
import { Random } from '../../random.js'
import { loadCommands, type Workload } from '../workload.js'

const DELIVERIES = 40
const SENDERS = 4
const SECRET = 'a secret of the campaign'

interface Acknowledged {
  readonly id: string
  readonly body: string
}

/** Two runs of `webhook listen` record signed deliveries; the second one is killed. */
export const inbox: Workload = {
  name: 'inbox',

  async record({ root, disk, notes, acknowledge }) {
    const run = loadCommands(root)
    const random = new Random('deliveries')
    let id = 0
    for (const round of [0, 1]) {
      const ready = join(notes, `ready-${round}.json`)
      const end = new AbortController()
      const args = ['webhook', 'listen', '--port', '0', '--inbox', join(disk, 'inbox'), '--ready-file', ready, '--json']
      const listening = run(args, { home: notes, env: { VOUCHERCTL_WEBHOOK_SECRET: SECRET }, signal: end.signal })
      const agent = new http.Agent({ keepAlive: true })
      await Promise.race([existsSoon(ready), listening])
      const { url } = JSON.parse(readFileSync(ready, 'utf8')) as { url: string }
      const send = sendTo(url, agent)
      const deliver = async () => {
        while (id < (round + 1) * DELIVERIES) {
          const updateId = ++id
          const body = JSON.stringify({ update_id: updateId, type: 'message', text: 'x'.repeat(random.below(3_000)) })
          const timestamp = Math.floor(Date.now() / 1_000)
          const headers = { ...signWebhook({ rawBody: body, secrets: [SECRET], timestamp, updateId }) }
          const { status } = await send({ method: 'POST', path: '/', headers, body })
          if (status !== 200) throw new Error(`the listener responded with ${status}`)
          acknowledge({ id: String(updateId), body })
        }
      }
      await Promise.all(Array.from({ length: SENDERS }, deliver))
      agent.destroy()
      // The traced process ends while the second listener runs, as if it were killed.
      if (round === 1) break
      end.abort()
      await listening
    }
  },

  async open() {
    return {
      async check(state, acknowledged: readonly Acknowledged[]) {
        const dir = join(state, 'inbox')
        await new InboxWriter(dir).close()
        const found = new Inbox(dir)
        return acknowledged
          .filter(({ id, body }) => {
            const known = found.byId(id)
            return known === undefined || String(found.read(known.id)?.body) !== body
          })
          .map(({ id }) => `delivery ${id}, to which the listener responded, is lost`)
      },
    }
  },

  syncs: [
    { call: 'workbench/inbox-writer.ts', what: 'a new folder', path: /^$/ },
    { call: 'workbench/inbox-writer.ts', what: 'a new file', path: /^inbox$/ },
    { call: 'workbench/inbox-writer.ts', what: 'the deliveries', path: /\.ndjson$/ },
  ],
}

/** Resolves when a file exists. */
async function existsSoon(path: string): Promise<void> {
  while (!existsSync(path)) await wait(10)
}
