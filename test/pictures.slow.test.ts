import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { built } from './support/cli/built-cli.js'
import { temporaryDir } from './support/cli/cli.js'
import { drawTerminal } from './support/cli/picture.js'
import { cliServer } from './support/cli/server.js'
import { hasTerminal, onTerminal } from './support/cli/terminal.js'

/** Draws the pictures of the front page from runs of the built command. After a change of the output, -u draws them. */

const redeemCode = '7CXW-YNFN-1KC8-RBQ3'

/** Replaces what differs between runs with what the picture shows. */
const examples: readonly (readonly [RegExp, string])[] = [
  [/ends in \w{4}/g, `ends in ${redeemCode.slice(-4)}`],
  [/\b(rdm|vch|req)_[0-9A-Z]{26}\b/g, '$1_01M82C8Y7XX287QNBKXJTB8G81'],
  [/(?<!\d)\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?Z/g, '2026-11-24$119:38:31$2Z'],
  [/(?<=:31)\.\d+(?=Z)/g, '.250'],
  [/ +\d+ ms/g, '    3 ms'],
  [/(?<=127\.0\.0\.1):\d+/g, ':8787'],
  [/#\d{13}/g, '#1795376315435'],
]

/** Runs the commands of the picture; returns each with its coloured output. */
async function runSession(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'voucherctl-picture-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const server = await cliServer()
  onTestFinished(() => server.close())
  const { credential } = await server.issue()
  const env = { ...server.env, VOUCHERCTL_WEBHOOK_SECRET: 'a-secret-of-your-own', FORCE_COLOR: '1' }
  const run = async (line: string) => {
    const { stdout, stderr } = await built.run(line.replace(redeemCode, credential.value).split(' '), home, env)
    return `$ voucherctl ${line}\n${stdout}${stderr}`
  }
  const redeem = `vouchers redeem ${redeemCode} --reference`
  const redeemed = [await run(`${redeem} till-4`), await run(`${redeem} till-5`)]

  const listen = 'webhook listen --port 8787 --expect message=1'
  const listener = built.start(listen.replace('8787', '0').split(' '), home, env)
  onTestFinished(() => void listener.kill('SIGKILL'))
  const ended = once(listener, 'close')
  let printed = ''
  listener.stdout.on('data', (chunk) => (printed += chunk))
  listener.stderr.on('data', (chunk) => (printed += chunk))
  const [url] = await vi.waitUntil(() => /http:\/\/127\.0\.0\.1:\d+(?=\.)/.exec(printed), { timeout: 120_000 })
  await run(`webhook trigger ping --fault bad-signature --url ${url}/`)
  await run(`webhook trigger message --url ${url}/`)
  await ended
  const text = [...redeemed, `$ voucherctl ${listen}\n${printed}`].join('\n').replaceAll(home, '/home/ana')
  return examples.reduce((shown, [found, example]) => shown.replace(found, example), text)
}

test('src/guides/session.svg shows the output of the commands', async () => {
  await expect(drawTerminal(await runSession(), 101)).toMatchFileSnapshot('../src/guides/session.svg')
})

/** Times of the timeline, ms: start, call, end after the time-out of the program. */
const timeline = ['0.001', '0.154', '3.170']

/** Proves the first program of the guide on a terminal of 80 columns; returns the command with its coloured output. */
async function runProve(): Promise<string> {
  const guide = readFileSync('src/guides/proving.md', 'utf8')
  const [, program = ''] = /^```python\n(# wrong\.py\n.*?)^```$/ms.exec(guide) ?? []
  const home = temporaryDir()
  writeFileSync(join(home, 'wrong.py'), program)
  const words = '-- python3 wrong.py order-1'
  // A terminal of `script` has 0 columns, which count as 80. The progress on stderr is no part of the picture.
  // A busy machine needs more than the 60 s of the default budget.
  const command = `${process.execPath} ${built.bin} prove --budget 5m ${words} 2>/dev/null`
  const terminal = onTerminal(command, home, built.environment(home, { TERM: 'xterm' }))
  expect(await terminal.exit).toBe(1)
  const times = [...timeline]
  const text = terminal
    .shown()
    .replaceAll('\r', '')
    .replaceAll(/\d+\.\d{3}(?= s )/g, (it) => times.shift() ?? it)
  return `$ voucherctl prove ${words}\n${text}`
}

const lacks = hasTerminal ? (spawnSync('python3', ['--version']).status === 0 ? '' : 'python3') : 'script'

test.skipIf(lacks)(`src/guides/prove.svg shows the report of prove${lacks && `: skipped, no ${lacks}`}`, async () => {
  await expect(drawTerminal(await runProve(), 80)).toMatchFileSnapshot('../src/guides/prove.svg')
})
