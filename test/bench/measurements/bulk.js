import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { issueRequests, prepareApplication, requireWhole, startLoad } from '../calls.js'
import { homeIn, startServer, usageOf, voucherctl, withProcesses } from '../processes.js'
import { budgetRow, rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const MEMORY_MB_MAX = 200
const SAMPLE_MS = 100

/** P10: CSV rows per second of `vouchers issue-many`, run as a process, compared with the issue calls of P7. */
export function measureBulk({ rounds, count, rows, say }) {
  return withProcesses(async ({ folder, start }) => {
    const server = await startServer(start, folder)
    const load = startLoad(start)
    const application = await prepareApplication(server)
    let peak = 0
    const middle = await alternate({ rounds, say }, (round) => [
      async () => {
        const { sample } = await load(server, issueRequests(application, `${round}`, count), { count })
        return { issue: sample }
      },
      async () => {
        const sample = await issueMany(folder, server, application, rows, round)
        if (round > 0) peak = Math.max(peak, sample.peakMb)
        return { 'issue-many': sample }
      },
    ])
    await requireWhole(server, application, (rounds + 1) * (count + rows))
    const what = `vouchers issue-many of ${rows.toLocaleString('en-US')} rows`
    const rates = { value: middle('issue-many'), reference: middle('issue'), target: 0.75, unit: 'rows/s' }
    return [
      rowOf({ id: 'P10', what: `${what}, end to end`, ...rates, against: 'issue calls, as P7' }),
      budgetRow('P10', `${what}: most memory`, peak, MEMORY_MB_MAX, 'MB'),
    ]
  })
}

/** Runs `vouchers issue-many` as a user does and measures from start to exit. */
async function issueMany(folder, { baseUrl }, { token, templateId }, rows, round) {
  const file = (name) => join(folder, `${round}-${name}`)
  const lines = Array.from({ length: rows }, (_, n) => `bulk-${round}-${n},user-${n}\n`)
  writeFileSync(file('in.csv'), `external_issue_id,recipient_user_id\n${lines.join('')}`)
  const flags = ['--template', templateId, '--out', file('out.csv'), '--json']
  const startedAt = performance.now()
  const child = spawn(process.execPath, [voucherctl, 'vouchers', 'issue-many', file('in.csv'), ...flags], {
    env: { ...homeIn(folder), VOUCHERCTL_TOKEN: token, VOUCHERCTL_BASE_URL: baseUrl },
    stdio: ['ignore', openSync(file('result.json'), 'w'), 'inherit'],
  })
  const usage = []
  const timer = setInterval(() => usage.push(usageOf(child.pid)), SAMPLE_MS)
  const [code] = await once(child, 'exit')
  clearInterval(timer)
  const seconds = (performance.now() - startedAt) / 1000
  if (code !== 0 || JSON.parse(readFileSync(file('result.json'), 'utf8')).issued !== rows) {
    throw new Error(`issue-many ended with ${code}`)
  }
  // The last sample may be of a process that has ended, but is not reaped.
  const known = usage.filter((it) => it !== null && it.mb > 0)
  return {
    perSecond: rows / seconds,
    cpu: known.at(-1).cpu / rows,
    quarterMb: known[Math.floor(known.length / 4)].mb,
    peakMb: Math.max(...known.map(({ mb }) => mb)),
  }
}
