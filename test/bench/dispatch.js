import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, cache } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { issueVoucher, prepareApplication } from './prepare.js'
import { rowOf } from './row.js'

const CONNECTIONS = 32
const VOUCHERS = 1_000
const path = '/api/v1/open-platform/vouchers/verify'

/**
 * P8: encrypted verify calls per second compared with the same calls in plain text, alternating in every round. The
 * first round warms up and does not count.
 * @param {{ rounds: number, count: number, profile?: string, say: (line: string) => void }} options
 */
export async function measureDispatch({ rounds, count, profile, say }) {
  const [serverFile, sealerFile] = await Promise.all([bundle('server-under-test'), bundle('sealer')])
  const { openSession } = await import(pathToFileURL(sealerFile))
  const dataDir = mkdtempSync(join(cache, 'data-'))
  const server = startChild(serverFile, [dataDir], { stderr: openSync(join(dataDir, 'server.log'), 'a') })
  const generator = startChild(fileURLToPath(new URL('load.js', import.meta.url)))
  const samples = { plain: [], dispatch: [] }
  try {
    const { baseUrl, operatorKeyFile } = await server.nextMessage()
    const application = await prepareApplication(baseUrl, readFileSync(operatorKeyFile, 'utf8').trim())
    const bodies = []
    for (let n = 0; n < VOUCHERS; n++) {
      const { credentials } = await issueVoucher(baseUrl, application, `order-${n}`)
      bodies.push(JSON.stringify({ credential: credentials.find((it) => it.type === 'redeem_code') }))
    }
    const headers = { authorization: `Bearer ${application.token}`, 'content-type': 'application/json' }
    const plain = bodies.map(
      (body) =>
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${headers.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    // Seal the requests right before they are sent: the server accepts an envelope once, within a minute.
    const sealed = async () => {
      const call = (n) => ({ method: 'POST', path, headers, body: bodies[n % VOUCHERS] })
      const seal = await openSession(baseUrl, call(0))
      return Array.from({ length: count }, (_, n) => seal(call(n)))
    }
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? ['plain', 'dispatch'] : ['dispatch', 'plain']
      const line = []
      for (const name of order) {
        const requests = name === 'plain' ? plain : await sealed()
        const profiled = profile !== undefined && round === rounds
        if (profiled) await server.ask('profile')
        const before = (await server.ask('cpu')).cpu
        const port = Number(new URL(baseUrl).port)
        const result = await generator.ask({ port, connections: CONNECTIONS, requests, count })
        const after = (await server.ask('cpu')).cpu
        if (profiled) await server.ask({ profileTo: join(profile, `${name}.cpuprofile`) })
        if (result.refused.length > 0) throw new Error(`${name} was refused: ${JSON.stringify(result.refused[0])}`)
        const cpu = (after.user + after.system - before.user - before.system) / count
        const busy = Math.round(result.generatorBusy * 100)
        line.push(`${name} ${Math.round(result.perSecond)}/s (server ${cpu.toFixed(0)} us each, generator ${busy} %)`)
        if (round > 0) samples[name].push(result.perSecond)
      }
      say(`${round === 0 ? 'warm-up' : `round ${round}`}: ${line.join('  ')}`)
    }
  } finally {
    await Promise.all([server.stop(), generator.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  }
  const what = 'verify through encrypted dispatch, 32 connections'
  const [value, reference] = [median(samples.dispatch), median(samples.plain)]
  return [rowOf({ id: 'P8', what, value, reference, target: 0.6, unit: 'requests/s', against: 'verify', runs: rounds })]
}
