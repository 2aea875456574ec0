import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { buildPackage } from '../../support/build/bundle.js'
import { issueCode, prepareApplication } from '../calls.js'
import { homeIn, now, runToEnd, voucherctl, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

/** P1 to P4: duration of processes from spawn to exit, or to the first 200 of a server. */
export function measureStartup({ rounds, say }) {
  buildPackage()
  return withProcesses(async ({ folder, own }) => {
    const env = homeIn(folder)
    const server = own(await startServer(env))
    const application = await prepareApplication(server)
    const code = await issueCode(server, application, 'startup')
    const caller = { ...env, VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_TOKEN: application.token }
    const commands = {
      bare: ['-e', '0'],
      version: [voucherctl, '--version'],
      help: [voucherctl, '--help'],
      'group help': [voucherctl, 'vouchers', '--help'],
      verify: [voucherctl, 'vouchers', 'verify', '--code', code, '--json'],
    }
    const middle = await alternate({ rounds, say }, () => [
      ...Object.entries(commands).map(([name, args]) => () => ({ [name]: { ms: runToEnd(args, caller) } })),
      async () => ({ serving: { ms: await runToFirstResponse(env) } }),
    ])
    const reference = middle('bare', 'ms')
    const row = (id, what, name, target) =>
      rowOf({ id, what, value: middle(name, 'ms'), reference, target, unit: 'ms', against: 'node -e 0' })
    return [
      row('P1', '--version, whole process', 'version', 1.15),
      row('P2', '--help, whole process', 'help', 1.35),
      row('P2', 'vouchers --help, whole process', 'group help', 1.5),
      row('P3', 'vouchers verify, whole process', 'verify', 2.1),
      row('P4', 'server start --memory until the first 200', 'serving', 4.5),
    ]
  })
}

async function runToFirstResponse(env) {
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
  const args = [voucherctl, 'server', 'start', '--memory', '--port', '0', '--json', '--rate-limit', 'off']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { base_url: baseUrl, operator_key_file: operatorKeyFile } = JSON.parse(line)
  return {
    baseUrl,
    operatorKey: readFileSync(operatorKeyFile, 'utf8').trim(),
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
