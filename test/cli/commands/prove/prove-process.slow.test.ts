import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { temporaryDir } from '../../../support/cli/cli.js'
import { closedPort } from '../../../support/closed-port.js'
import { processesWith, until } from '../../../support/prove/processes.js'
import { listTemplates, proveScript, redeemVoucher } from '../../../support/prove/scripts.js'

/** Starts the built command with a script whose third run never ends; resolves in that run. */
async function inThirdRun() {
  const home = temporaryDir()
  const script = `echo >> runs; [ $(wc -l < runs) -lt 3 ] || { sleep 1000 & touch third; wait; }; ${redeemVoucher}`
  const child = built.start(['prove', '--', 'sh', '-c', script], home, { PROVE_HOME: home })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  await until(() => existsSync(join(home, 'third')))
  return { child, home, output }
}

const untilNoneRuns = (home: string) => until(() => processesWith(`PROVE_HOME=${home}`).length === 0)

test('Ctrl-C ends prove with 130, and its program with all of its processes', async () => {
  const { child, home, output } = await inThirdRun()
  child.kill('SIGINT')
  expect(await once(child, 'close')).toEqual([130, null])
  expect(output.stderr).toContain('Interrupted before anything was judged.')
  await untilNoneRuns(home)
})

test.each(['SIGTERM', 'SIGHUP'] as const)(
  '%s ends prove, and its program with all of its processes',
  async (signal) => {
    const { child, home } = await inThirdRun()
    child.kill(signal)
    await once(child, 'close')
    await untilNoneRuns(home)
  },
)

test('a second Ctrl-C leaves no process either', async () => {
  const { child, home } = await inThirdRun()
  child.kill('SIGINT')
  child.kill('SIGINT')
  await once(child, 'close')
  await untilNoneRuns(home)
})

test('prove refuses an app that is not ready after 15 s', async () => {
  const ready = `http://127.0.0.1:${await closedPort()}/`
  const { exit, stdout, stderr, home } = await proveScript(listTemplates, ['--app', 'sleep 1000', '--ready', ready])
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/The app does not respond with 2xx within 15 s \(http:.*\nhint: Check --app, its port/)
  await untilNoneRuns(home)
})
