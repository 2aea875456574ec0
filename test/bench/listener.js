import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle, cache, root } from './bundle.js'
import { environment, startChild } from './child.js'
import { median } from './median.js'
import { rowOf } from './row.js'

const CONNECTIONS = 32
const SECRET = 'a-secret-of-the-benchmark'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/**
 * P14: signed deliveries per second to `webhook listen`, which verifies and records them, compared with a node:http
 * server that only responds. The first round warms up and does not count. The inbox must get every delivery.
 * @param {{ rounds: number, count: number, say: (line: string) => void }} options
 */
export async function measureListener({ rounds, count, say }) {
  const { countUpdates } = await import(await bundle('inbox-count'))
  const dir = mkdtempSync(join(cache, 'listener-'))
  environment.VOUCHERCTL_WEBHOOK_SECRET = SECRET
  const listener = startChild(here('programs/listener-under-test.js'), [dir, join(root, 'bin', 'voucherctl.js')])
  delete environment.VOUCHERCTL_WEBHOOK_SECRET
  const plain = startChild(here('programs/receiver.js'))
  const generator = startChild(here('programs/load.js'))
  const samples = { listener: [], plain: [] }
  try {
    const ports = { listener: (await listener.nextMessage()).port, plain: (await plain.nextMessage()).port }
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? ['plain', 'listener'] : ['listener', 'plain']
      const requests = Array.from({ length: count }, (_, n) => delivery(round * count + n + 1))
      const measured = {}
      const before = await listener.ask('cpu')
      for (const name of order) {
        const result = await generator.ask({ port: ports[name], connections: CONNECTIONS, requests, count })
        if (result.refused.length > 0) throw new Error(`${name} refused: ${JSON.stringify(result.refused[0])}`)
        measured[name] = result
      }
      const after = await listener.ask('cpu')
      if (round > 0) for (const [name, { perSecond }] of Object.entries(measured)) samples[name].push(perSecond)
      say(
        `${round === 0 ? 'warm-up' : `round ${round}`}: listener ${Math.round(measured.listener.perSecond)}/s (${Math.round(((after.cpu - before.cpu) / count) * 1e6)} us each, ${Math.round(after.memory)} MB, generator ${Math.round(measured.listener.generatorBusy * 100)} %)  node:http ${Math.round(measured.plain.perSecond)}/s (generator ${Math.round(measured.plain.generatorBusy * 100)} %)`,
      )
    }
    const sent = (rounds + 1) * count
    const recorded = countUpdates(join(dir, 'inbox'))
    if (recorded !== sent) throw new Error(`${sent} deliveries got a response, ${recorded} are in the inbox`)
  } finally {
    await Promise.all([listener.stop(), plain.stop(), generator.stop()])
    rmSync(dir, { recursive: true, force: true })
  }
  return [
    rowOf({
      id: 'P14',
      what: `webhook listen: verified, recorded, responded, ${CONNECTIONS} connections`,
      value: median(samples.listener),
      reference: median(samples.plain),
      target: 0.25,
      unit: 'deliveries/s',
      against: 'node:http that reads and responds',
      runs: rounds,
    }),
  ]
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
  const signature = createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')
  return `POST /hook HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nX-Platform-Signature-V2: ${signature}\r\nX-Platform-Timestamp: ${timestamp}\r\nX-Platform-Update-Id: ${updateId}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}
