// Which server gets a credential: the data folder's on any port, and never another program on its port.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, expect, test } from 'vitest'
import { voucherctl } from './installed.js'

const profile = ['-p', 'e2e-local']
const run = (line: string) => voucherctl(...line.split(' '), ...profile)
afterAll(() => run('server stop'))

/** Starts the server of the profile. @returns its port */
async function start(): Promise<number> {
  // A port of the system: servers of tests that run beside this one take the default ports.
  const { stdout } = await run('server start --detach --json --port 0')
  return Number(new URL((JSON.parse(stdout) as { base_url: string }).base_url).port)
}

test('credentials follow the data folder to another port; a program on the old port gets none', async () => {
  const port = await start()
  expect((await run('login --local --account demo')).exitCode).toBe(0)
  const app = await run('apps create --name Shop -q')
  expect((await run(`tokens create --app ${app.stdout} --scope vouchers:read --save`)).exitCode).toBe(0)
  await run('server stop')

  const received: (string | undefined)[] = []
  const stranger = createServer((request, response) => {
    received.push(request.headers.authorization)
    response.end('{"success":true,"data":{"items":[]}}')
  })
  stranger.listen(port, '127.0.0.1')
  await once(stranger, 'listening')
  try {
    for (const line of ['templates list', 'apps list', `templates list --base-url http://127.0.0.1:${port}`])
      expect((await run(line)).exitCode).toBe(9)
    expect(await start()).not.toBe(port)
    for (const line of ['templates list', 'apps list', 'platform reviews']) expect((await run(line)).exitCode).toBe(0)
    expect(received.filter((it) => it !== undefined)).toEqual([])
  } finally {
    stranger.close()
  }
})

test('server stop refuses a profile with another address than the running server', async () => {
  await voucherctl('profiles', 'set', 'e2e-second', '--base-url', 'http://127.0.0.1:9')
  const stopped = await voucherctl('server', 'stop', '-p', 'e2e-second')
  expect([stopped.exitCode, stopped.stderr]).toEqual([9, expect.stringContaining('http://127.0.0.1:9')])
  expect((await run('server status')).exitCode).toBe(0)
})
