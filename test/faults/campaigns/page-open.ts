import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../../src/contract/index.js'
import { callerOf } from '../../support/server/client.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'
import type { Campaign, Run } from '../campaign.js'
import { type Server, startServer } from '../server.js'

const ATTACKS_PER_SECOND = 10
const HISTORY = 120
const OPENING_MS_MAX = 60_000
/** Pause between the calls of the honest application. */
const PAUSE_MS = 10
/** Limits of the promise: how much slower an honest call may become, and how long the server may not respond. */
const RATIO_MAX = 2
const BLOCKED_MS_MAX = 100
/** In the short form, a shorter p99 counts as this: other work may take the processor for as long. */
const SHORT_P99_MS_MIN = 20

/** A body of 62 KB with 2,300 values that no schema describes, each of which is hidden and searched for elsewhere. */
const hostile = {
  metadata: { k: '0'.repeat(28_000) },
  zz: Array.from({ length: 2_300 }, (_, n) => `${String(n).padStart(8, '0')}/`),
}
const tame = { metadata: { text: 'Your order 3fa85f64 is ready on 2026-11-23, come to Corner Cafe. '.repeat(920) } }

const issue = (tenant: Tenant, body: object) =>
  callerOf(tenant.place.send, tenant.token)(contract.vouchers.issue, body as never)

/** Durations of an honest application's calls until `isOver` returns true. */
async function honestCalls(server: Server, honest: () => Promise<{ status: number }>, isOver: () => boolean) {
  const durations: number[] = []
  while (!isOver()) {
    const startedAt = performance.now()
    const { status } = await honest()
    durations.push(performance.now() - startedAt)
    if (status !== 200) throw new Error(`the honest application got ${status}: ${server.stderr()}`)
    await wait(PAUSE_MS)
  }
  return durations.sort((a, b) => a - b)
}

const part = (sorted: readonly number[], share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
const figures = (sorted: readonly number[]) => [0.5, 0.99, 1].map((share) => part(sorted, share).toFixed(1)).join(' / ')

/** Ends an exchange, where a line without one ends with `null`. */
const CLOSING_BRACE = '}'.charCodeAt(0)

/** Opens the stream of a page; `lines` counts what has arrived. */
async function openStream({ baseUrl, operatorKey }: Server) {
  const url = `${baseUrl}/_platform/v1/activity?follow=true&bodies=true`
  const request = http.get(url, { headers: { authorization: `Bearer ${operatorKey}` } })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const stream = { lines: 0, withExchange: 0, close: () => request.destroy() }
  response.on('error', () => {})
  response.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf('\n'); at !== -1; at = chunk.indexOf('\n', at + 1)) {
      stream.lines += 1
      if (chunk[at - 2] === CLOSING_BRACE) stream.withExchange += 1
    }
  })
  return stream
}

async function scene(run: Run, name: string, flags: readonly string[]) {
  const server = await startServer(run.root, join(run.folder, name), ['--rate-limit', 'off', ...flags])
  const [honest, other] = [await newTenant(server), await newTenant(server)]
  const credential = codeOf(await honest.issue())
  const line = server.line()
  const verify = () => callerOf(line.send, honest.token)(contract.vouchers.verify, { credential })
  const measure = (isOver: () => boolean) => honestCalls(server, verify, isOver)
  const during = (seconds: number) => {
    const until = performance.now() + seconds * 1_000
    return measure(() => performance.now() > until)
  }
  await during(1)
  const end = () => {
    line.close()
    return server.stop()
  }
  return { server, other, measure, during, end }
}

/** An application sends hostile bodies while a page follows; another one verifies. */
async function follow(run: Run, seconds: number) {
  const { server, other, during, end } = await scene(run, 'followed', [])
  const quiet = await during(seconds)
  const stream = await openStream(server)
  let isOver = false
  const attack = async () => {
    while (!isOver) {
      const { status } = await issue(other, hostile)
      if (status === 400) run.sometimes.note('a hostile body was refused while a page was open')
      await wait(1_000 / ATTACKS_PER_SECOND)
    }
  }
  const attacking = attack()
  const attacked = await during(seconds)
  isOver = true
  await attacking
  if (stream.withExchange > 0) run.sometimes.note('the page got the exchange of a hostile call')
  stream.close()
  await end()
  return { quiet, attacked }
}

/** A page opens on a server whose history has many large exchanges; an application verifies meanwhile. */
async function open(run: Run, name: string, body: object) {
  const { server, other, measure, end } = await scene(run, name, ['--inspect'])
  for (let n = 0; n < HISTORY; n++) await issue(other, body)
  const kept = (await other.operator(contract.platform.activity, {})).text.trimEnd().split('\n').length
  const opening = openStream(server)
  let lines = 0
  opening.then((it) => setInterval(() => (lines = it.lines), 5).unref()).catch(() => {})
  const startedAt = performance.now()
  const durations = await measure(() => lines >= kept || performance.now() > startedAt + OPENING_MS_MAX)
  const ms = performance.now() - startedAt
  const stream = await opening
  if (lines >= kept && stream.withExchange >= HISTORY) run.sometimes.note('a page got the whole history')
  stream.close()
  await end()
  return { durations, ms }
}

export const pageOpen: Campaign = {
  row: 'R7',
  name: 'page open: one application fills the page with hostile bodies, another one verifies',
  tags: ['secrets-of-exchanges/3'],
  requirement:
    'An application sends hidden values while a page is open. The p99 of another application at most doubles.',
  states: [
    'a hostile body was refused while a page was open',
    'the page got the exchange of a hostile call',
    'a page got the whole history',
  ],

  async run(run: Run) {
    const seconds = run.quick ? 3 : 40
    const { quiet, attacked } = await follow(run, seconds)
    const opened = { hostile: await open(run, 'hostile', hostile), tame: await open(run, 'tame', tame) }
    const broken: string[] = []
    const ratio = part(attacked, 0.99) / Math.max(part(quiet, 0.99), run.quick ? SHORT_P99_MS_MIN : 0)
    if (ratio > RATIO_MAX * run.patience)
      broken.push(`with a page open, the p99 of an honest verify is ${ratio.toFixed(1)} times the quiet one`)
    for (const [what, { durations }] of Object.entries({ ...opened, live: { durations: attacked } })) {
      const most = part(durations, 1)
      if (most > BLOCKED_MS_MAX * run.patience) broken.push(`${what}: a verify waited ${Math.round(most)} ms`)
    }
    return {
      facts: {
        'p50 / p99 / max ms quiet': figures(quiet),
        attacked: figures(attacked),
        'p99 ratio': ratio.toFixed(2),
        'while a hostile history opens': figures(opened.hostile.durations),
        'a tame one': figures(opened.tame.durations),
        'ms to open': `${Math.round(opened.hostile.ms)}, ${Math.round(opened.tame.ms)}`,
      },
      broken,
    }
  },
}
