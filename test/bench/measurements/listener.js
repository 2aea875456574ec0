import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { CONNECTIONS, startLoad } from '../calls.js'
import { httpRequest } from '../http-request.js'
import { bundle, environment, program, usageOf, voucherctl, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const SECRET = 'a-secret-of-the-benchmark'

/**
 * P14: signed deliveries per second to `webhook listen`, which verifies and records them, compared with a node:http
 * server that only responds. The inbox must get every delivery.
 */
export function measureListener({ rounds, count, say }) {
  return withProcesses(async ({ folder, own, start }) => {
    const { countUpdates } = await import(await bundle('inbox-count.js'))
    const plain = start(program('receiver.js'))
    const { port } = await plain.nextMessage()
    const listener = own(await startListener(folder))
    const load = startLoad(start)
    const middle = await alternate({ rounds, say }, (round) => {
      const requests = Array.from({ length: count }, (_, n) => delivery(round * count + n + 1))
      return [
        async () => ({ plain: (await load({ ports: [port], cpu: () => 0 }, requests, { count })).sample }),
        async () => ({ listener: (await load(listener, requests, { count })).sample }),
      ]
    })
    const sent = (rounds + 1) * count
    const recorded = countUpdates(join(folder, 'inbox'))
    if (recorded !== sent) throw new Error(`${sent} deliveries got a response, ${recorded} are in the inbox`)
    const what = `webhook listen: verified, recorded, responded, ${CONNECTIONS} connections`
    const rates = { value: middle('listener'), reference: middle('plain'), target: 0.25, unit: 'deliveries/s' }
    return [rowOf({ id: 'P14', what, ...rates, against: 'node:http that reads and responds' })]
  })
}

/** Runs `webhook listen` as a user does, with stdout in a file. */
async function startListener(folder) {
  const readyFile = join(folder, 'ready.json')
  const flags = ['--port', '0', '--ready-file', readyFile, '--inbox', join(folder, 'inbox'), '--json']
  const child = spawn(process.execPath, [voucherctl, 'webhook', 'listen', ...flags], {
    env: { ...environment, VOUCHERCTL_WEBHOOK_SECRET: SECRET },
    stdio: ['ignore', openSync(join(folder, 'lines'), 'w'), 'inherit'],
  })
  while (!existsSync(readyFile)) {
    if (child.exitCode !== null) throw new Error(`webhook listen ended with ${child.exitCode}`)
    await wait(10)
  }
  return {
    ports: [JSON.parse(readFileSync(readyFile, 'utf8')).port],
    cpu: () => usageOf(child.pid).cpu,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

function delivery(updateId) {
  const body = JSON.stringify({
    update_id: updateId,
    type: 'message',
    created_at: new Date(0).toISOString(),
    message: {
      message_id: updateId,
      chat: { id: 'chat_01KAJ3XQ8Y7M2N4P6R8T0V2W4X' },
      text: 'Is this table still free?',
    },
  })
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = {
    'Content-Type': 'application/json',
    'X-Platform-Signature-V2': createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex'),
    'X-Platform-Timestamp': timestamp,
    'X-Platform-Update-Id': updateId,
  }
  return httpRequest('/hook', headers, body)
}
