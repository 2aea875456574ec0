import { randomInt, randomUUID } from 'node:crypto'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { bundle, cache } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { startPostgres } from './postgres-server.js'
import { prepareApplication } from './prepare.js'
import { rowOf } from './row.js'
import { CONNECTIONS, redeemPath, request, requireWhole, verifyPath } from './throughput.js'

const reversePath = '/api/v1/open-platform/vouchers/redemptions/:redemptionId/reverse'

const FEW = 10_000
/** Verify calls per measurement: two for each voucher of the smaller store. */
const VERIFIED = 20_000

/**
 * P11: verify and redeem calls on a server with `many` stored vouchers, compared with a server with 10,000 vouchers,
 * alternating, for random vouchers. After each round its redemptions are reversed, unmeasured. The first round warms
 * up and does not count.
 * @param {'SQLite' | 'PostgreSQL'} engine
 * @param {{ rounds: number, many: number, say: (line: string) => void }} options
 */
export async function measureStored(engine, options) {
  if (engine === 'SQLite') return measure(options, { engine, databaseOf: async () => undefined })
  const postgres = await startPostgres()
  const databaseOf = async (name) => {
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`create database ${name}`)
    await client.end()
    return postgres.url.replace(/\/postgres$/, `/${name}`)
  }
  try {
    return await measure(options, { engine, databaseOf })
  } finally {
    await postgres.stop()
  }
}

async function measure({ rounds, many, say }, { engine, databaseOf }) {
  const files = { server: await bundle('server-under-test'), fill: await bundle('fill') }
  const generator = startChild(fileURLToPath(new URL('programs/load.js', import.meta.url)))
  const stores = []
  const samples = { verify: { few: [], many: [] }, redeem: { few: [], many: [] } }
  try {
    for (const [name, vouchers] of Object.entries({ few: FEW, many })) {
      stores.push(
        await filledStore({ engine, name, vouchers, rounds, files, databaseUrl: await databaseOf(name), say }),
      )
    }
    for (let round = 0; round <= rounds; round++) {
      for (const store of round % 2 === 0 ? stores : stores.toReversed()) {
        const measured = await oneRound(generator, store, round)
        const calls = Object.entries(measured).map(
          ([call, { perSecond, cpu }]) => `${call} ${Math.round(perSecond)}/s (server ${cpu.toFixed(0)} us each)`,
        )
        say(
          `${round === 0 ? 'warm-up' : `round ${round}`}, ${grouped(store.vouchers)} stored on ${engine}: ${calls.join('  ')}`,
        )
        if (round === 0) continue
        for (const [call, { perSecond }] of Object.entries(measured)) samples[call][store.name].push(perSecond)
      }
    }
    for (const { baseUrl, application, vouchers } of stores) await requireWhole(baseUrl, application, vouchers)
  } finally {
    await Promise.all([generator.stop(), ...stores.map(({ server }) => server.stop())])
    for (const { dataDir } of stores) rmSync(dataDir, { recursive: true, force: true })
  }
  return Object.entries(samples).map(([call, by]) =>
    rowOf({
      id: 'P11',
      what: `${call} on ${engine}, ${grouped(many)} stored`,
      value: median(by.many),
      reference: median(by.few),
      target: 0.85,
      unit: 'requests/s',
      against: `with ${grouped(FEW)}`,
      runs: rounds,
    }),
  )
}

/** Fills a database and then starts a server on it. */
async function filledStore(options) {
  const dataDir = mkdtempSync(join(cache, `stored-${options.name}-`))
  try {
    return { dataDir, ...(await filledIn(dataDir, options)) }
  } catch (error) {
    rmSync(dataDir, { recursive: true, force: true })
    throw error
  }
}

async function filledIn(dataDir, { engine, name, vouchers, rounds, files, databaseUrl, say }) {
  const log = openSync(join(dataDir, 'server.log'), 'a')
  const database = databaseUrl === undefined ? [] : [databaseUrl]
  const start = () => startChild(files.server, [dataDir, '0', ...database], { stderr: log })
  const first = start()
  const { baseUrl, operatorKeyFile } = await first.nextMessage()
  const application = await prepareApplication(baseUrl, readFileSync(operatorKeyFile, 'utf8').trim())
  await first.stop()

  const startedAt = performance.now()
  const place = [String(vouchers), application.applicationId, application.templateId]
  const fill = startChild(files.fill, [dataDir, ...place, ...database])
  // Use other vouchers in each round until all have been used.
  const perRound = Math.min(VERIFIED + FEW, vouchers)
  const { codes } = await fill.ask({ places: drawn(Math.min(perRound * (rounds + 1), vouchers), vouchers) })
  await fill.stop()
  const seconds = (performance.now() - startedAt) / 1000
  say(`${grouped(vouchers)} vouchers stored on ${engine} in ${Math.round(seconds)} s`)
  const server = start()
  return { name, vouchers, application, codes, perRound, server, ...(await server.nextMessage()) }
}

async function oneRound(generator, { server, baseUrl, application, codes, perRound }, round) {
  const port = Number(new URL(baseUrl).port)
  const from = (round * perRound) % codes.length
  const [toVerify, toRedeem] =
    perRound === FEW
      ? [codes, codes]
      : [codes.slice(from, from + VERIFIED), codes.slice(from + VERIFIED, from + perRound)]
  const timed = async (requests, count, capture) => {
    const before = (await server.ask('cpu')).cpu
    const result = await generator.ask({ port, connections: CONNECTIONS, requests, count, capture })
    if (result.refused.length > 0) throw new Error(`refused: ${JSON.stringify(result.refused[0])}`)
    const { cpu } = await server.ask('cpu')
    return { ...result, cpu: (cpu.user + cpu.system - before.user - before.system) / count }
  }
  const bodyOf = (value) => ({ credential: { type: 'redeem_code', value } })
  const { token } = application
  const verify = await timed(
    toVerify.map((code) => request(verifyPath, token, bodyOf(code))),
    VERIFIED,
  )
  const redeem = await timed(
    toRedeem.map((code) => request(redeemPath, token, bodyOf(code), randomUUID())),
    FEW,
    '"id":"(rdm_[^"]+)"',
  )
  await timed(
    redeem.captured.map((id) => request(reversePath.replace(':redemptionId', id), token, {}, randomUUID())),
    FEW,
  )
  return { verify, redeem }
}

/** Returns `count` different random indexes below `end`. */
function drawn(count, end) {
  const places = new Set()
  while (places.size < count) places.add(randomInt(end))
  return [...places]
}

function grouped(number) {
  return number.toLocaleString('en-US')
}
