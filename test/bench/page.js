import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { buildPackage } from '../support/build/bundle.js'
import { bundle, cache, root } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { fetchJson, prepareApplication } from './prepare.js'
import { rowOf } from './row.js'
import { CONNECTIONS, issuePath, request, verifyPath } from './throughput.js'

/** What the first view loads; the other files are views. */
const FIRST = ['index.html', 'icon.svg', 'app.css', 'app.js']
const FIRST_VIEW_KB_MAX = 25
const PAGE_KB_MAX = 60
/** Vouchers that the measured calls verify, each several times. */
const VOUCHERS = 500
const PAUSE_MS = 500

/** P16: size of the page, compressed, and verify calls while a follower reads the activity with bodies. */
export async function measurePage({ rounds, count, say }) {
  return [...measurePageSize(), await measureFollowed({ rounds, count, say })]
}

function measurePageSize() {
  buildPackage()
  const folder = join(root, 'dist/inspector')
  const files = readdirSync(folder)
  const row = (what, names, max) => {
    const bytes = names.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0)
    const size = { value: bytes / 1e3, reference: max, against: 'budget', target: 1, unit: 'kB', runs: 1 }
    return rowOf({ id: 'P16', what, ...size })
  }
  return [
    row('the first view, each file with gzip', FIRST, FIRST_VIEW_KB_MAX),
    row('all views, each file with gzip', files, PAGE_KB_MAX),
  ]
}

async function measureFollowed({ rounds, count, say }) {
  const dataDir = mkdtempSync(join(cache, 'data-'))
  const log = openSync(join(dataDir, 'server.log'), 'a')
  const server = startChild(await bundle('server-under-test'), [dataDir], { stderr: log })
  const generator = startChild(fileURLToPath(new URL('programs/load.js', import.meta.url)))
  const follower = startChild(fileURLToPath(new URL('programs/follower.js', import.meta.url)))
  const rates = { open: [], closed: [] }
  try {
    const { baseUrl, operatorKeyFile } = await server.nextMessage()
    const token = readFileSync(operatorKeyFile, 'utf8').trim()
    const application = await prepareApplication(baseUrl, token)
    const verifies = await prepareVerifies(baseUrl, application)
    const target = { url: `${baseUrl}/_platform/v1/activity?follow=true&bodies=true`, token }
    for (let round = 0; round <= rounds; round++) {
      const measured = {}
      const order = round % 2 === 0 ? ['closed', 'open'] : ['open', 'closed']
      for (const page of order) {
        if (page === 'open') await follower.ask(target)
        // Both begin after the same pause: a server that was just busy is slower.
        await wait(PAUSE_MS)
        const before = (await server.ask('cpu')).cpu
        const load = { port: Number(new URL(baseUrl).port), connections: CONNECTIONS, requests: verifies, count }
        const { perSecond, refused } = await generator.ask(load)
        const after = (await server.ask('cpu')).cpu
        if (refused.length > 0) throw new Error(`verify was refused: ${JSON.stringify(refused[0])}`)
        const cpu = (after.user + after.system - before.user - before.system) / count
        measured[page] = { perSecond, cpu, ...(page === 'open' ? await follower.ask(null) : {}) }
        if (round > 0) rates[page].push(perSecond)
      }
      say(`${round === 0 ? 'warm-up' : `round ${round}`}: ${JSON.stringify(measured)}`)
    }
  } finally {
    await Promise.all([server.stop(), generator.stop(), follower.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  }
  const [value, reference] = [median(rates.open), median(rates.closed)]
  const row = { value, reference, target: 0.97, unit: 'requests/s', against: 'without', runs: rounds }
  return rowOf({ id: 'P16', what: 'verify, with a page open', ...row })
}

async function prepareVerifies(baseUrl, { token, templateId }) {
  const requests = []
  for (let n = 0; n < VOUCHERS; n++) {
    const body = { template_id: templateId, external_issue_id: `order-${n}`, recipient_user_id: `user-${n}` }
    const headers = { 'idempotency-key': `issue-${n}` }
    const { credentials } = await fetchJson(`${baseUrl}${issuePath}`, { token, body, headers })
    const credential = credentials.find(({ type }) => type === 'redeem_code')
    requests.push(request(verifyPath, token, { credential }))
  }
  return requests
}
