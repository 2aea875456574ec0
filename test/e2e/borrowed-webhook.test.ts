// The updates of a bot arrive at an application by one command, and its own webhook is back afterwards.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { home, voucherctl } from './installed.js'

const run = (line: string) => voucherctl(...line.split(' '), '-p', 'e2e-borrow')
afterAll(() => run('server stop'))

/** Runs a command that must succeed. @returns its output */
async function output(line: string): Promise<string> {
  const { stdout, stderr, exitCode } = await run(line)
  expect([line, exitCode], stderr).toEqual([line, 0])
  return stdout
}

test('webhook listen --bot forwards the updates of a bot, whose own webhook is back at the end', async () => {
  await output('server start --detach --auto-approve')
  await output('login --local --account demo')
  const bot = await output('bots apply --name Coffee --username coffee_bot -q')
  await output(`webhook set ${bot} --url https://93.184.215.14/own`)

  const app = createServer((request, response) => void request.resume().on('end', () => response.end()))
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  try {
    const arrived = once(app, 'request')
    const hook = `http://127.0.0.1:${(app.address() as AddressInfo).port}/hook`
    const ready = join(home, 'ready.json')
    const flags = `--forward-to ${hook} --max-events 1 --timeout 30s --ready-file ${ready} --json`
    const listening = run(`webhook listen --bot coffee_bot ${flags}`)
    await vi.waitFor(() => expect(existsSync(ready)).toBe(true), 120_000)
    await output(`webhook trigger ping --bot ${bot}`)
    const [request] = await arrived
    expect(request.url).toBe('/hook')
    const { stdout, exitCode } = await listening
    expect([exitCode, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ type: 'ping', verdict: 'ok' })])
  } finally {
    app.close()
  }
  expect(await output(`bots get ${bot} --jq .webhook.url`)).toContain('https://93.184.215.14/')
})
