import { once } from 'node:events'
import { expect, test, vi } from 'vitest'
import { Random } from '../../../faults/random.js'
import { built } from '../../../support/cli/built-cli.js'
import { activeTemplate, IssueManyRun, issuedCount } from '../../../support/cli/issue-many.js'
import { startServerChild } from '../../../support/server/child.js'
import { standaloneServer, temporaryFolder } from '../../../support/server/server.js'
import { newTenant } from '../../../support/server/tenant.js'

const patient = { timeout: 60_000, interval: 1 }

test('issue-many, killed and resumed, issues one voucher per row', { tags: 'journal-of-bulk-commands/1' }, async () => {
  const rows = 5_000
  // The server runs in this process, so that rows wait whenever the test that kills the command has to wait.
  const server = await standaloneServer({ dataDir: temporaryFolder() })
  const tenant = await newTenant(server)
  const template = await activeTemplate(tenant, 2 * rows)
  const run = new IssueManyRun(tenant, server.baseUrl, template, rows)
  const args = [...run.args, '--resume']
  const random = new Random('issue-many')
  for (let kills = 0; kills < 3; kills += 1) {
    const child = built.start(args, run.home, run.env)
    const ended = once(child, 'exit')
    const enough = run.size + 1 + random.below(200_000)
    await vi.waitUntil(() => run.size >= enough, patient)
    child.kill('SIGKILL')
    expect((await ended)[1]).toBe('SIGKILL')
  }
  const last = await built.run(args, run.home, run.env)
  expect([last.exit, last.stderr]).toEqual([0, ''])
  const summary = JSON.parse(last.stdout)
  expect(summary).toMatchObject({ total: rows, failed: 0 })
  expect(summary.issued + summary.replayed + summary.skipped).toBe(rows)
  // Replays prove that a kill has hit a request in flight.
  expect(summary.replayed).toBeGreaterThan(0)
  expect(await issuedCount(tenant)).toBe(rows)
  run.expectWhole(rows)
  await server.close()
})

test('issue-many exits 9 if the server is killed, and --resume issues every row once', async () => {
  const rows = 3_000
  const dataDir = temporaryFolder()
  const dying = await startServerChild(dataDir)
  const tenant = await newTenant(dying)
  const baseUrl = `http://127.0.0.1:${dying.port}`
  const run = new IssueManyRun(tenant, baseUrl, await activeTemplate(tenant, rows), rows)
  const running = built.run([...run.args, '--retries', '1'], run.home, run.env)
  await vi.waitUntil(() => run.size > 1_000, patient)
  await dying.kill()
  const { exit, stdout, stderr } = await running
  expect([exit, stdout]).toEqual([9, ''])
  expect(JSON.parse(stderr).error).toMatchObject({ code: 'NETWORK_ERROR', details: { failed: 0 } })

  const restarted = await standaloneServer({ dataDir, port: dying.port })
  expect(restarted.baseUrl).toBe(baseUrl)
  const resumed = await built.run([...run.args, '--resume'], run.home, run.env)
  expect([resumed.exit, resumed.stderr]).toEqual([0, ''])
  expect(JSON.parse(resumed.stdout)).toMatchObject({ total: rows, failed: 0 })
  run.expectWhole(rows)
  await restarted.close()
})
