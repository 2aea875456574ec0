import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import {
  CODE,
  issueRequests,
  prepareApplication,
  redeemPath,
  request,
  requireWhole,
  reversePath,
  startLoad,
  verifyPath,
  withCode,
} from '../calls.js'
import { startPostgres } from '../postgres-server.js'
import { bundle, startServer, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const FEW = 10_000
/** Verify calls per measurement: two for each voucher of the smaller store. */
const VERIFIED = 20_000

/**
 * P11: verify and redeem calls on a server with `many` stored vouchers, compared with a server with 10,000 vouchers,
 * for vouchers at random places of the index. After each round its redemptions are reversed, unmeasured.
 */
export function measureStored({ engine, rounds, many, say }) {
  return withProcesses(async ({ folder, own, start }) => {
    const postgres = engine === 'PostgreSQL' ? own(await startPostgres()) : undefined
    const load = startLoad(start)
    const stores = {}
    for (const [name, vouchers] of Object.entries({ few: FEW, many })) {
      const startedAt = performance.now()
      const databaseUrl = postgres && (await createDatabase(postgres.url, name))
      stores[name] = await filledStore(start, load, join(folder, name), { vouchers, rounds, databaseUrl })
      const seconds = (performance.now() - startedAt) / 1000
      say(`${grouped(vouchers)} vouchers stored on ${engine} in ${Math.round(seconds)} s`)
    }
    const middle = await alternate({ rounds, say }, (round) =>
      Object.entries(stores).map(([name, store]) => async () => {
        const { verify, redeem } = await measureRound(load, store, round)
        return { [`verify ${name}`]: verify, [`redeem ${name}`]: redeem }
      }),
    )
    for (const { server, application, vouchers } of Object.values(stores)) {
      await requireWhole(server, application, vouchers)
    }
    return ['verify', 'redeem'].map((call) => {
      const rates = {
        value: middle(`${call} many`),
        reference: middle(`${call} few`),
        target: 0.85,
        unit: 'requests/s',
      }
      const what = `${call} on ${engine}, ${grouped(many)} stored`
      return rowOf({ id: 'P11', what, ...rates, against: `with ${grouped(FEW)}` })
    })
  })
}

async function createDatabase(url, name) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return url.replace(/\/postgres$/, `/${name}`)
}

/** Issues the vouchers that the measured calls use, fills the store with others, and starts the server again. */
async function filledStore(start, load, folder, { vouchers, rounds, databaseUrl }) {
  mkdirSync(folder)
  const first = await startServer(start, folder, { databaseUrl })
  const application = await prepareApplication(first)
  // Use other vouchers in each round until all have been used.
  const perRound = Math.min(VERIFIED + FEW, vouchers)
  const used = Math.min(perRound * (rounds + 1), vouchers)
  const codes = []
  while (codes.length < used) {
    const count = Math.min(FEW, used - codes.length)
    const requests = issueRequests(application, `stored-${codes.length}`, count)
    codes.push(...(await load(first, requests, { count, capture: CODE })).captured)
  }
  await first.child.stop()
  if (vouchers > used) {
    const place = [String(vouchers - used), application.applicationId, application.templateId]
    const args = [folder, ...place, ...(databaseUrl === undefined ? [] : [databaseUrl])]
    const fill = start(await bundle('fill.js'), args)
    await fill.ask('fill')
    await fill.stop()
  }
  return { vouchers, application, codes, perRound, server: await startServer(start, folder, { databaseUrl }) }
}

async function measureRound(load, { server, application: { token }, codes, perRound }, round) {
  const take = (from, length) =>
    Array.from({ length: Math.min(length, codes.length) }, (_, n) => codes[(from + n) % codes.length])
  const toVerify = take(round * perRound, VERIFIED)
  const toRedeem = take(round * perRound + VERIFIED, FEW)
  const verifies = toVerify.map((code) => request(verifyPath, token, withCode(code)))
  const verify = await load(server, verifies, { count: VERIFIED })
  const redeems = toRedeem.map((code) => request(redeemPath, token, withCode(code), randomUUID()))
  const redeem = await load(server, redeems, { count: FEW, capture: '"id":"(rdm_[^"]+)"' })
  const reversals = redeem.captured.map((id) => request(reversePath(id), token, {}, randomUUID()))
  await load(server, reversals, { count: FEW })
  return { verify: verify.sample, redeem: redeem.sample }
}

const grouped = (number) => number.toLocaleString('en-US')
