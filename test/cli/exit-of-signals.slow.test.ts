import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { temporaryDir } from '../support/cli/cli.js'
import { cliServer } from '../support/cli/server.js'

/** Starts the built command and waits until one of its streams has the text. */
async function startUntil(stream: 'stdout' | 'stderr', text: string, args: readonly string[], home: string, env = {}) {
  const child = built.start(args, home, env)
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
  let output = ''
  for await (const chunk of child[stream].iterator({ destroyOnReturn: false })) {
    output += String(chunk)
    if (output.includes(text)) break
  }
  child.stdout.resume()
  child.stderr.resume()
  return child
}

async function exitAfter(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<number> {
  child.kill(signal)
  return (await once(child, 'close'))[0]
}

test('mcp serve exits 0 on SIGTERM and 130 on SIGINT', async () => {
  for (const [signal, exit] of [
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const) {
    const child = await startUntil('stdout', '"id":1', ['mcp', 'serve'], temporaryDir())
    expect([signal, await exitAfter(child, signal)]).toEqual([signal, exit])
  }
})

test('server start exits 0 if a wrapper sends SIGTERM more than once', async () => {
  const home = temporaryDir()
  const child = await startUntil('stdout', 'The server runs', ['server', 'start', '--memory', '--port', '0'], home)
  const closed = once(child, 'close')
  while (child.kill('SIGTERM')) await setImmediate()
  expect(await closed).toEqual([0, null])
})

test('webhook listen that waits for deliveries exits 143 on SIGTERM', async () => {
  for (const goal of [
    ['--expect', 'message=2'],
    ['--max-events', '2'],
  ]) {
    const args = ['webhook', 'listen', '--port', '0', '--insecure', '--inbox', 'inbox', ...goal]
    const child = await startUntil('stderr', 'Details of a delivery', args, temporaryDir())
    expect([goal, await exitAfter(child, 'SIGTERM')]).toEqual([goal, 143])
  }
})

test('scenario record exits 0 if the signal made it write its file, otherwise as interrupted', async () => {
  const server = await cliServer()
  const record = async (signal: NodeJS.Signals, act: () => Promise<unknown>) => {
    const home = temporaryDir()
    const args = ['scenario', 'record', '--out', 'session.yaml']
    const child = await startUntil('stderr', 'Recording', args, home, server.env)
    await act()
    return [await exitAfter(child, signal), existsSync(join(home, 'session.yaml'))]
  }
  expect(await record('SIGINT', () => server.issue())).toEqual([0, true])
  expect(await record('SIGTERM', () => server.issue())).toEqual([0, true])
  expect(await record('SIGINT', async () => {})).toEqual([130, false])
  await server.close()
})
