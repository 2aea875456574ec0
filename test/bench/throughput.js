import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, cache } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { fetchJson, prepareApplication } from './prepare.js'
import { rowOf } from './row.js'

export const CONNECTIONS = 32

export const issuePath = '/api/v1/open-platform/vouchers/issue'
export const verifyPath = '/api/v1/open-platform/vouchers/verify'
export const redeemPath = '/api/v1/open-platform/vouchers/redeem'

/**
 * P5 to P8: CPU time of issue, verify, encrypted verify and redeem calls in the server and in the floor, and the rates
 * of the server and of a Fastify hello. Every second round measures them in reverse. The first round warms up and does
 * not count.
 * @param {{ rounds: number, count: number, profile?: string, say: (line: string) => void }} options
 *   count: requests of one measurement; profile: folder for a CPU profile of each measurement of the last round
 */
export async function measureThroughput({ rounds, count, profile, say }) {
  const files = ['server-under-test', 'floor-plus', 'reference', 'sealer'].map(bundle)
  const [serverFile, floorFile, referenceFile, sealerFile] = await Promise.all(files)
  const { openSession } = await import(pathToFileURL(sealerFile))
  const dataDir = mkdtempSync(join(cache, 'data-'))
  const log = openSync(join(dataDir, 'server.log'), 'a')
  const server = startChild(serverFile, [dataDir], { stderr: log })
  const floor = startChild(floorFile, [dataDir])
  const reference = startChild(referenceFile)
  const generator = startChild(fileURLToPath(new URL('programs/load.js', import.meta.url)))
  const samples = {}
  try {
    const { baseUrl, operatorKeyFile } = await server.nextMessage()
    const { baseUrl: floorUrl, ...floorApplication } = await floor.nextMessage()
    const hello = await reference.nextMessage()
    const application = await prepareApplication(baseUrl, readFileSync(operatorKeyFile, 'utf8').trim())

    for (let round = 0; round <= rounds; round++) {
      const measured = {}
      const measure = async (name, target, url, requests, capture) => {
        const profiled = profile !== undefined && round === rounds
        if (profiled) await target.ask('profile')
        const before = (await target.ask('cpu')).cpu
        const port = Number(new URL(url).port)
        const result = await generator.ask({ port, connections: CONNECTIONS, requests, count, capture })
        const after = (await target.ask('cpu')).cpu
        if (profiled) await target.ask({ profileTo: join(profile, `${name}.cpuprofile`) })
        if (result.refused.length > 0) throw new Error(`${name} was refused: ${JSON.stringify(result.refused[0])}`)
        const cpu = (after.user + after.system - before.user - before.system) / count
        measured[name] = { perSecond: result.perSecond, cpu, generatorBusy: result.generatorBusy }
        return result.captured
      }
      const measureCalls = async (prefix, target, url, { token, templateId }) => {
        const issues = range(count, (n) =>
          request(
            issuePath,
            token,
            { template_id: templateId, external_issue_id: `order-${round}-${n}`, recipient_user_id: `user-${n}` },
            `issue-${round}-${n}`,
          ),
        )
        const codes = await measure(`${prefix}issue`, target, url, issues, '"redeem_code","value":"([^"]+)"')
        const credential = (n) => ({ credential: { type: 'redeem_code', value: codes[n] } })
        const verifies = range(count, (n) => request(verifyPath, token, credential(n)))
        await measure(`${prefix}verify`, target, url, verifies)
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
        const inner = (n) => ({ method: 'POST', path: verifyPath, headers, body: JSON.stringify(credential(n)) })
        // Encrypt the requests right before they are sent: the server accepts an envelope once, within a minute.
        const seal = await openSession(url, inner(0))
        const envelopes = range(count, (n) => seal(inner(n)))
        await measure(`${prefix}encrypted`, target, url, envelopes)
        const redeems = range(count, (n) => request(redeemPath, token, credential(n), `redeem-${round}-${n}`))
        await measure(`${prefix}redeem`, target, url, redeems)
      }
      const body = { credential: { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' } }
      const parts = [
        () => measure('hello', reference, hello.baseUrl, [request(verifyPath, application.token, body)]),
        () => measureCalls('floor ', floor, floorUrl, floorApplication),
        () => measureCalls('', server, baseUrl, application),
      ]
      for (const part of round % 2 === 0 ? parts : parts.reverse()) await part()
      if (round > 0) for (const [name, sample] of Object.entries(measured)) (samples[name] ??= []).push(sample)
      say(`${round === 0 ? 'warm-up' : `round ${round}`}: ${Object.entries(measured).map(describe).join('  ')}`)
    }
    await requireWhole(baseUrl, application, (rounds + 1) * count)
  } finally {
    await Promise.all([server, floor, reference, generator].map((it) => it.stop()))
    rmSync(dataDir, { recursive: true, force: true })
  }
  const middle = (name, member) => median(samples[name].map((it) => it[member]))
  const hello = middle('hello', 'perSecond')
  const row = (id, what, name, target) =>
    rowOf({
      id,
      what: `${what}, ${CONNECTIONS} connections: CPU time`,
      value: middle(name, 'cpu'),
      reference: middle(`floor ${name}`, 'cpu'),
      target,
      unit: 'us',
      against: 'floor',
      runs: rounds,
      beside: { what: 'a Fastify hello', reference: hello, ratio: middle(name, 'perSecond') / hello },
    })
  return [
    row('P5', 'verify', 'verify', 1.25),
    row('P6', 'redeem, durable', 'redeem', 1.3),
    row('P7', 'issue, one template, durable', 'issue', 1.3),
    row('P8', 'verify through encrypted dispatch', 'encrypted', 1.3),
  ]
}

/** Throws unless `issuedCount` of the template equals the number of issued vouchers. */
export async function requireWhole(baseUrl, { token, templateId }, issued) {
  const { items } = await fetchJson(`${baseUrl}/api/v1/open-platform/vouchers/templates`, { token })
  const { issuedCount } = items.find((it) => it.id === templateId)
  if (issuedCount !== issued) throw new Error(`${issued} vouchers were returned, ${issuedCount} are counted`)
}

export function request(path, token, body, idempotencyKey) {
  const text = JSON.stringify(body)
  const key = idempotencyKey === undefined ? '' : `Idempotency-Key: ${idempotencyKey}\r\n`
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${key}Content-Length: ${text.length}\r\n\r\n${text}`
}

function range(length, make) {
  return Array.from({ length }, (_, n) => make(n))
}

function describe([name, { perSecond, cpu, generatorBusy }]) {
  return `${name} ${Math.round(perSecond)}/s (server ${cpu.toFixed(0)} us each, generator ${Math.round(generatorBusy * 100)} %)`
}
