import { execFile } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { bundle, cache, root } from './bundle.js'
import { environment, startChild } from './child.js'
import { median } from './median.js'
import { prepareApplication } from './prepare.js'
import { rowOf } from './row.js'
import { CONNECTIONS, issuePath, request, requireWhole } from './throughput.js'

const MEMORY_MB_MAX = 200
const SAMPLE_MS = 100

/**
 * P10: CSV rows per second of `vouchers issue-many`, run as a process with a file of `rows` rows, compared
 * with the issue calls of P7, alternating. The first round warms up and does not count.
 * @param {{ rounds: number, count: number, rows: number, say: (line: string) => void }} options
 *   count: calls of the reference
 */
export async function measureBulk({ rounds, count, rows, say }) {
  const dataDir = mkdtempSync(join(cache, 'bulk-'))
  const log = openSync(join(dataDir, 'server.log'), 'a')
  const server = startChild(await bundle('server-under-test'), [dataDir], { stderr: log })
  const generator = startChild(fileURLToPath(new URL('programs/load.js', import.meta.url)))
  const samples = { bulk: [], issue: [], peaks: [], quarters: [] }
  try {
    const { baseUrl, operatorKeyFile } = await server.nextMessage()
    const application = await prepareApplication(baseUrl, readFileSync(operatorKeyFile, 'utf8').trim())
    for (let round = 0; round <= rounds; round++) {
      const parts = {
        issue: () => issueCalls(generator, baseUrl, application, count, round),
        bulk: () => issueMany(dataDir, baseUrl, application, rows, round),
      }
      const measured = {}
      for (const part of round % 2 === 0 ? ['issue', 'bulk'] : ['bulk', 'issue']) measured[part] = await parts[part]()
      const { issue, bulk } = measured
      say(
        `${round === 0 ? 'warm-up' : `round ${round}`}: issue ${Math.round(issue)}/s  issue-many ${Math.round(bulk.perSecond)}/s (${Math.round(bulk.cpu * 1e6)} us each, ${Math.round(bulk.quarterMb)} MB after a quarter, ${Math.round(bulk.peakMb)} MB at most)`,
      )
      if (round === 0) continue
      samples.issue.push(issue)
      samples.bulk.push(bulk.perSecond)
      samples.peaks.push(bulk.peakMb)
      samples.quarters.push(bulk.quarterMb)
    }
    await requireWhole(baseUrl, application, (rounds + 1) * (count + rows))
  } finally {
    await Promise.all([server.stop(), generator.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  }
  const row = rowOf({
    id: 'P10',
    what: `vouchers issue-many of ${rows.toLocaleString('en-US')} rows, end to end`,
    value: median(samples.bulk),
    reference: median(samples.issue),
    target: 0.75,
    unit: 'rows/s',
    against: 'issue calls, as P7',
    runs: rounds,
  })
  const memory = { peak_mb: Math.max(...samples.peaks), quarter_mb: median(samples.quarters), target_mb: MEMORY_MB_MAX }
  return [{ ...row, memory, held: row.held && memory.peak_mb < MEMORY_MB_MAX }]
}

async function issueCalls(generator, baseUrl, { token, templateId }, count, round) {
  const requests = Array.from({ length: count }, (_, n) => {
    const body = {
      template_id: templateId,
      external_issue_id: `order-${round}-${n}`,
      recipient_user_id: `user-${n}`,
    }
    return request(issuePath, token, body, `issue-${round}-${n}`)
  })
  const port = Number(new URL(baseUrl).port)
  const { perSecond, refused } = await generator.ask({ port, connections: CONNECTIONS, requests, count })
  if (refused.length > 0) throw new Error(`issue was refused: ${JSON.stringify(refused[0])}`)
  return perSecond
}

/** Runs `vouchers issue-many` as a user does and measures from start to exit. */
async function issueMany(dir, baseUrl, { token, templateId }, rows, round) {
  const file = join(dir, `in-${round}.csv`)
  const lines = Array.from({ length: rows }, (_, n) => `bulk-${round}-${n},user-${n}\n`)
  writeFileSync(file, `external_issue_id,recipient_user_id\n${lines.join('')}`)
  const args = [
    'vouchers',
    'issue-many',
    file,
    '--template',
    templateId,
    '--out',
    join(dir, `out-${round}.csv`),
    '--json',
  ]
  const env = { ...environment, HOME: dir, VOUCHERCTL_TOKEN: token, VOUCHERCTL_BASE_URL: baseUrl }
  const startedAt = process.hrtime.bigint()
  const samples = []
  let cpu = 0
  await new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [join(root, 'bin', 'voucherctl.js'), ...args],
      { env },
      (error, stdout, stderr) => {
        clearInterval(timer)
        if (error !== null || JSON.parse(stdout).issued !== rows)
          reject(new Error(`issue-many failed: ${stderr}${stdout}`))
        else resolve()
      },
    )
    const timer = setInterval(() => {
      samples.push(residentMb(child.pid))
      cpu = cpuSeconds(child.pid) ?? cpu
    }, SAMPLE_MS)
  })
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const known = samples.filter((it) => it > 0)
  return {
    perSecond: rows / seconds,
    cpu: cpu / rows,
    peakMb: Math.max(...known),
    quarterMb: known[Math.floor(known.length / 4)],
  }
}

/** Resident memory of a process from /proc, which only Linux has; 0 after the process has exited. */
function residentMb(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readProc(pid, 'status'))?.[1] ?? 0) / 1024
}

/** User and kernel CPU time of a process; /proc counts it in ticks of 10 ms. */
function cpuSeconds(pid) {
  const stat = readProc(pid, 'stat')
  if (stat === '') return undefined
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
