import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../../src/contract/index.js'
import type { ApiResponse } from '../../support/server/client.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'
import { CallLog } from '../call-log.js'
import { type Campaign, type Run, spread } from '../campaign.js'
import { clerks, retryUnresolved } from '../clients.js'
import { breachesIn, differences } from '../invariants.js'
import { memoryOf, type Server, startServer, tenantAt } from '../server.js'
import { readStored } from '../stored.js'

const LIMIT_PER_SECOND = 200
const HONEST_PER_SECOND = 20
const GREEDY_CONNECTIONS = 64
const CLIENTS = 16
const RECOVERY_MS_MAX = 5_000
const MEMORY_MIB_MAX = 400

/** Samples the resident memory of the server; the returned function stops that and returns the maximum in MiB. */
function watchMemory({ pid }: Server): () => number {
  let most = 0
  const look = () => {
    most = Math.max(most, memoryOf(pid) ?? 0)
  }
  const timer = setInterval(look, 100)
  return () => {
    look()
    clearInterval(timer)
    return most
  }
}

async function timed(call: () => Promise<ApiResponse>): Promise<{ response: ApiResponse; ms: number }> {
  const startedAt = performance.now()
  const response = await call()
  return { response, ms: performance.now() - startedAt }
}

/** One application sends as many calls as it can and gets 429 beyond its rate limit; a second must be unaffected. */
async function greedy({ folder, root, patience, sometimes }: Run, seconds: number, broken: string[]) {
  const flags = ['--rate-limit', `verify=${LIMIT_PER_SECOND}/1`]
  const server = await startServer(root, join(folder, 'limited'), flags)
  const honest = await newTenant(server)
  const other = await newTenant(server)
  const verify = (tenant: Tenant, code: ReturnType<typeof codeOf>) => () =>
    tenant.runtime(contract.vouchers.verify, { credential: code })
  const honestCall = verify(honest, codeOf(await honest.issue()))
  const otherCode = codeOf(await other.issue())
  const until = performance.now() + seconds * 1_000
  const shouldContinue = () => performance.now() < until
  const memory = watchMemory(server)
  const [honestMs, refusedMs]: number[][] = [[], []]
  let asked = 0

  const askForAll = async () => {
    const line = server.line()
    const call = verify(tenantAt({ send: line.send, operatorKey: '' }, other), otherCode)
    while (shouldContinue()) {
      const { response, ms } = await timed(call)
      asked += 1
      if (response.status === 200) {
        if (refusedMs?.length) sometimes.note('a call within the rate limit succeeded beside refused ones')
        continue
      }
      if (response.status === 429 && response.headers['retry-after'] !== undefined) {
        refusedMs?.push(ms)
        sometimes.note('a call above the rate limit got 429 with Retry-After')
      } else broken.push(`beyond its limit it got ${response.status} ${response.text}`)
    }
    line.close()
  }
  const askAsEver = async () => {
    while (shouldContinue()) {
      const { response, ms } = await timed(honestCall)
      honestMs?.push(ms)
      if (refusedMs?.length) sometimes.note('the other application had a response while calls were refused')
      if (response.status !== 200) broken.push(`the honest application got ${response.status} ${response.text}`)
      await wait(1_000 / HONEST_PER_SECOND)
    }
  }
  await Promise.all([askAsEver(), ...Array.from({ length: GREEDY_CONNECTIONS }, askForAll)])
  const recovery = await recovered(verify(other, otherCode), broken, patience)
  const mib = memory()
  await server.stop()
  return { times: Math.round(asked / seconds / LIMIT_PER_SECOND), honestMs, refusedMs, recovery, mib }
}

/** Repeats a call until it returns 200 within 250 ms; returns how many milliseconds that took. */
async function recovered(call: () => Promise<ApiResponse>, broken: string[], patience: number): Promise<number> {
  const endedAt = performance.now()
  for (;;) {
    const { response, ms } = await timed(call)
    const since = performance.now() - endedAt
    if (response.status === 200 && ms < 250) return since
    if (since > RECOVERY_MS_MAX * patience) {
      broken.push(`no recovery within ${(RECOVERY_MS_MAX * patience) / 1_000} s`)
      return since
    }
    await wait(50)
  }
}

/** Runs ten times as many writing clients as other campaigns, without a rate limit. */
async function crowd({ folder, root, random, patience, sometimes }: Run, seconds: number, broken: string[]) {
  const dataDir = join(folder, 'crowded')
  const callLog = new CallLog(join(folder, 'acknowledged.ndjson'), sometimes)
  const server = await startServer(root, dataDir)
  const tenant = await newTenant(server)
  const { id } = await tenant.template({ issue_limit: 1_000_000 })
  const until = performance.now() + seconds * 1_000
  const memory = watchMemory(server)
  let responses = 0
  const lines = Array.from({ length: CLIENTS * 10 }, () => server.line())
  await Promise.all(
    lines.map((line, index) =>
      clerks(1, {
        tenant: tenantAt({ send: line.send, operatorKey: '' }, tenant),
        callLog,
        random: random.of(`crowd ${index}`),
        name: `o${index}`,
        templateIds: [id],
        shouldContinue: () => performance.now() < until,
        onResponse({ status, headers, text }) {
          responses += 1
          if (status < 300) sometimes.note('a write of the crowd took effect')
          const shed = (status === 429 || status === 503) && headers['retry-after'] !== undefined
          if (status >= 300 && !shed) broken.push(`under overload it got ${status} ${text}`)
        },
      }),
    ),
  )
  const code = codeOf(await tenant.issue(id, { key: 'after' }))
  const recovery = await recovered(
    () => tenant.runtime(contract.vouchers.verify, { credential: code }),
    broken,
    patience,
  )
  for (const line of lines) line.close()
  const lost = callLog.unresolved().length
  if (lost > 0) broken.push(`${lost} calls had no response under overload`)
  await retryUnresolved(tenant, callLog)
  const mib = memory()
  await server.stop()
  const stored = readStored(dataDir, folder)
  const own = differences(callLog, stored).filter((it) => !/nobody (sent the key after|asked for voucher)/.test(it))
  broken.push(...breachesIn(stored), ...own)
  return { perSecond: Math.round(responses / seconds), recovery, mib }
}

export const overload: Campaign = {
  row: 'R13',
  name: 'overload: one application far beyond its limit, then 160 writing clients',
  tags: ['failure-codes/3', 'rate-limits/1'],
  requirement: '160 clients of an application write. A second application gets all responses.',
  states: [
    'a call above the rate limit got 429 with Retry-After',
    'a call within the rate limit succeeded beside refused ones',
    'the other application had a response while calls were refused',
    'a write of the crowd took effect',
    'a redemption was reversed',
  ],

  async run(run: Run) {
    const seconds = run.quick ? 5 : 60
    const broken: string[] = []
    const one = await greedy(run, seconds, broken)
    const all = await crowd(run, seconds, broken)
    const mib = Math.max(one.mib, all.mib)
    if (mib > MEMORY_MIB_MAX) broken.push(`the server took ${mib} MiB, more than ${MEMORY_MIB_MAX}`)
    return {
      facts: {
        'limit exceeded': `${one.times}x`,
        'honest responses': spread(one.honestMs ?? []),
        '429 after': spread(one.refusedMs ?? []),
        'writes/s of the crowd': all.perSecond,
        recovery: spread([one.recovery, all.recovery]),
        'memory MiB': mib,
      },
      broken,
    }
  },
}
