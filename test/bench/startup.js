import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { buildPackage } from '../support/build/bundle.js'
import { cache, root } from './bundle.js'
import { environment } from './child.js'
import { median } from './median.js'
import { issueVoucher, prepareApplication } from './prepare.js'
import { rowOf } from './row.js'

const bin = join(root, 'bin', 'voucherctl.js')

/**
 * P1 to P4: duration of processes from spawn to exit, or to the first 200 of a server. Each round runs every process
 * once, first node without a script; the first round warms up and does not count.
 */
export async function measureStartup({ rounds, say }) {
  buildPackage()
  const home = mkdtempSync(join(cache, 'home-'))
  const env = { ...environment, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, XDG_CACHE_HOME: home }
  const server = await startServer(env)
  const samples = {}
  try {
    const application = await prepareApplication(server.baseUrl, readFileSync(server.operatorKeyFile, 'utf8').trim())
    const { credentials } = await issueVoucher(server.baseUrl, application, 'startup')
    const caller = { ...env, VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_TOKEN: application.token }
    const commands = {
      bare: ['-e', '0'],
      version: [bin, '--version'],
      help: [bin, '--help'],
      groupHelp: [bin, 'vouchers', '--help'],
      verify: [bin, 'vouchers', 'verify', '--code', credentials[0].value, '--json'],
    }
    for (let round = 0; round <= rounds; round++) {
      const measured = {}
      for (const [name, args] of Object.entries(commands)) measured[name] = runToEnd(args, caller)
      measured.serving = await runToFirstResponse(env)
      if (round > 0) for (const [name, ms] of Object.entries(measured)) (samples[name] ??= []).push(ms)
    }
  } finally {
    await server.stop()
    rmSync(home, { recursive: true, force: true })
  }
  say(
    `starts: ${Object.entries(samples)
      .map(([name, all]) => `${name} ${median(all).toFixed(1)} ms`)
      .join('  ')}`,
  )
  const row = (id, what, name, target) =>
    rowOf({
      id,
      what,
      value: median(samples[name]),
      reference: median(samples.bare),
      target,
      unit: 'ms',
      against: 'node -e 0',
      runs: rounds,
    })
  return [
    row('P1', '--version, whole process', 'version', 1.15),
    row('P2', '--help, whole process', 'help', 1.6),
    row('P2', 'vouchers --help, whole process', 'groupHelp', 1.6),
    row('P3', 'vouchers verify, whole process', 'verify', 2.3),
    row('P4', 'server start --memory until the first 200', 'serving', 5),
  ]
}

/** Measures the published bundle. */

const now = () => Number(process.hrtime.bigint()) / 1e6

function runToEnd(args, env) {
  const startedAt = now()
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' })
  const ms = now() - startedAt
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
  return ms
}

export async function runToFirstResponse(env) {
  const startedAt = now()
  const server = await startServer(env)
  try {
    const [response] = await once(get(`${server.baseUrl}/healthz`), 'response')
    const ms = now() - startedAt
    if (response.statusCode !== 200) throw new Error(`/healthz returned ${response.statusCode}`)
    response.resume()
    return ms
  } finally {
    await server.stop()
  }
}

/** Starts `server start --memory` and waits for its ready line. */
async function startServer(env) {
  const args = [bin, 'server', 'start', '--memory', '--port', '0', '--json', '--rate-limit', 'off']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { base_url: baseUrl, operator_key_file: operatorKeyFile } = JSON.parse(line)
  return {
    baseUrl,
    operatorKeyFile,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
