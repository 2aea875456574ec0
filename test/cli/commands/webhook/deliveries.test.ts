import { expect, test, vi } from 'vitest'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'

test('webhook deliveries counts from the clock of the server after it was moved by 30 days', async () => {
  const { env, client, close } = await cliServer()
  const home = temporaryDir()
  const run = (line: string, more = {}) => cli(line, { home, env: { ...env, ...more } })
  try {
    expect((await run('platform clock advance --in 30d')).exit).toBe(0)
    const account = await client.platform.issueAccountToken({ accountId: 'acme' })
    const jwt = { VOUCHERCTL_JWT: account.ok ? account.data.jwt : '' }
    const bot = (await run('bots apply --name Bot --username clock_bot -q', jwt)).stdout.trim()
    await run(`platform bots approve ${bot}`)
    await run(`webhook set ${bot} --url http://127.0.0.1:${await closedPort()}/ --generate-secret`, jwt)
    await run(`platform bots add-update ${bot} --kind ping`)
    await vi.waitFor(async () => {
      const { stdout } = await run(`webhook deliveries ${bot}`, jwt)
      expect(stdout).toMatch(
        / {2}✗ {2}\S+ \S+ \((?:now|\d+s ago)\) .*\n {2}… {2}\S+ \S+ \(in \d+[sm]\) {2}next attempt/,
      )
    })
    expect((await run('platform deliveries list')).stdout).toMatch(/\((?:now|\d+s ago)\)\n/)
  } finally {
    await close()
  }
})
