import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildPackage } from '../support/build/bundle.js'
import { bundle, cache, root } from './bundle.js'
import { environment, startChild } from './child.js'
import { median } from './median.js'
import { installBeside } from './peer.js'
import { issueVoucher, prepareApplication } from './prepare.js'
import { rowOf } from './row.js'
import { CONNECTIONS, request, verifyPath } from './throughput.js'

const PRISM = '5.16.0'

/**
 * P18: verify calls per second, compared with Prism, a mock server that checks the same calls against the OpenAPI
 * document of this server and responds with its example. The first round warms up and does not count.
 */
export async function measureMock({ rounds, count, say }) {
  const prismMissing = installBeside(`prism-${PRISM}`, prismScript, [
    `@stoplight/prism-cli@${PRISM}`,
    '--ignore-scripts',
  ])
  if (prismMissing !== null) return [{ id: 'P18', skipped: prismMissing }]
  buildPackage()
  const prismArgs = preparePrism()
  const dataDir = mkdtempSync(join(cache, 'data-'))
  const server = startChild(await bundle('server-under-test'), [dataDir], {
    stderr: openSync(join(dataDir, 'server.log'), 'a'),
  })
  const generator = startChild(fileURLToPath(new URL('programs/load.js', import.meta.url)))
  const port = await freePort()
  const prism = spawn(process.execPath, [...prismArgs, '--port', String(port)], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const samples = { server: [], prism: [] }
  try {
    const { baseUrl, operatorKeyFile } = await server.nextMessage()
    const application = await prepareApplication(baseUrl, readFileSync(operatorKeyFile, 'utf8').trim())
    const { credentials } = await issueVoucher(baseUrl, application, 'order-1')
    const requests = [request(verifyPath, application.token, { credential: credentials[0] })]
    await listens(`http://127.0.0.1:${port}/healthz`)
    const targets = {
      server: { port: Number(new URL(baseUrl).port), count },
      prism: { port, count: Math.ceil(count / 10) },
    }
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? ['server', 'prism'] : ['prism', 'server']
      for (const name of order) {
        const result = await generator.ask({ ...targets[name], connections: CONNECTIONS, requests })
        if (result.refused.length > 0) throw new Error(`${name} refused: ${JSON.stringify(result.refused[0])}`)
        if (round > 0) samples[name].push(result.perSecond)
        say(`${round === 0 ? 'warm-up' : `round ${round}`}: ${name} ${Math.round(result.perSecond)}/s`)
      }
    }
  } finally {
    prism.kill()
    await Promise.all([server.stop(), generator.stop()])
    rmSync(dataDir, { recursive: true, force: true })
  }
  return [
    rowOf({
      id: 'P18',
      what: `verify, ${CONNECTIONS} connections`,
      value: median(samples.server),
      reference: median(samples.prism),
      target: 1,
      unit: 'requests/s',
      against: `Prism ${PRISM}, which stores nothing`,
      runs: rounds,
    }),
  ]
}

const prismScript = join(cache, `prism-${PRISM}`, 'node_modules/@stoplight/prism-cli/dist/index.js')

/** Writes the OpenAPI document. @returns the arguments of Node that start Prism with it */
function preparePrism() {
  const document = join(cache, 'openapi.json')
  const program = join(root, 'bin', 'voucherctl.js')
  const stdio = ['ignore', openSync(document, 'w'), 'inherit']
  execFileSync(process.execPath, [program, 'server', 'openapi', '--json'], { stdio })
  const flags = ['--host', '127.0.0.1', '--multiprocess', 'false', '--verboseLevel', 'fatal']
  return [prismScript, 'mock', document, ...flags]
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function listens(url) {
  for (let tries = 0; tries < 300; tries++) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return
    await setTimeout(100)
  }
  throw new Error(`nothing listens at ${url}`)
}
