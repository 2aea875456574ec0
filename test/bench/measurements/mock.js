import { execFileSync, spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'
import { buildPackage } from '../../support/build/bundle.js'
import { CONNECTIONS, issueCode, prepareApplication, request, startLoad, verifyPath, withCode } from '../calls.js'
import { freePort } from '../postgres-server.js'
import { cache, environment, installBeside, startServer, voucherctl, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

const PRISM = '5.16.0'
const script = join(cache, `prism-${PRISM}`, 'node_modules/@stoplight/prism-cli/dist/index.js')

/**
 * P18: verify calls per second, compared with Prism, a mock server that checks the same calls against the OpenAPI
 * document of this server and responds with its example.
 */
export function measureMock({ rounds, count, say }) {
  const missing = installBeside(`prism-${PRISM}`, script, [`@stoplight/prism-cli@${PRISM}`, '--ignore-scripts'])
  if (missing !== null) return [{ id: 'P18', skipped: missing }]
  buildPackage()
  return withProcesses(async ({ folder, own, start }) => {
    const prism = { ports: [own(await startPrism(folder)).port], cpu: () => 0 }
    const server = await startServer(start, folder)
    const application = await prepareApplication(server)
    const code = await issueCode(server, application, 'order-1')
    const requests = [request(verifyPath, application.token, withCode(code))]
    const load = startLoad(start)
    const middle = await alternate({ rounds, say }, () => [
      async () => ({ server: (await load(server, requests, { count })).sample }),
      async () => ({ prism: (await load(prism, requests, { count: Math.ceil(count / 10) })).sample }),
    ])
    const rates = { value: middle('server'), reference: middle('prism'), target: 1, unit: 'requests/s' }
    const against = `Prism ${PRISM}, which stores nothing`
    return [rowOf({ id: 'P18', what: `verify, ${CONNECTIONS} connections`, ...rates, against })]
  })
}

/** Starts Prism with the OpenAPI document, and waits until it accepts connections. */
async function startPrism(folder) {
  const document = join(folder, 'openapi.json')
  const stdio = ['ignore', openSync(document, 'w'), 'inherit']
  execFileSync(process.execPath, [voucherctl, 'server', 'openapi', '--json'], { stdio })
  const port = await freePort()
  const flags = ['--host', '127.0.0.1', '--port', String(port), '--multiprocess', 'false', '--verboseLevel', 'fatal']
  const args = [script, 'mock', document, ...flags]
  const child = spawn(process.execPath, args, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] })
  const prism = { port, stop: () => child.kill() }
  for (let tries = 0; tries < 300; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null)
    if (response !== null) return prism
    await wait(100)
  }
  prism.stop()
  throw new Error(`Prism does not listen on port ${port}`)
}
