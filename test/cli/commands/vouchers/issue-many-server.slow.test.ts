import { once } from 'node:events'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { contract } from '../../../../src/contract/index.js'
import { built } from '../../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { activeTemplate, IssueManyRun, issuedCount } from '../../../support/cli/issue-many.js'
import { type LiveServer, liveServer } from '../../../support/server/server.js'
import { newTenant } from '../../../support/server/tenant.js'

let server: LiveServer
beforeAll(async () => {
  server = await liveServer()
})
afterAll(() => server.close())

const patient = { timeout: 120_000, interval: 1 }

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('issue-many interrupted by %s records the rows in flight and exits %i', async (signal, exit) => {
  const tenant = await newTenant(server)
  const run = new IssueManyRun(tenant, server.baseUrl, await activeTemplate(tenant, 5_000), 5_000)
  const child = built.start(run.args, run.home, run.env)
  let stderr = ''
  child.stderr.on('data', (chunk) => (stderr += chunk))
  await vi.waitUntil(() => run.size > 1_000, patient)
  child.kill(signal)
  expect((await once(child, 'close'))[0]).toBe(exit)
  const { error } = JSON.parse(stderr)
  expect(error).toMatchObject({ code: 'ABORTED', hint: expect.stringContaining('--resume') })
  expect(error.details.issued).toBe(await issuedCount(tenant))
  run.expectWhole(error.details.issued)
})

test('issue-many fails no row if the server limits the rate', { tags: 'bulk-commands/7' }, async () => {
  // A busy machine also makes more calls than these before the window ends.
  const limited = await liveServer({ rateLimit: { issue: { calls: 40, seconds: 4 } } })
  const tenant = await newTenant(limited)
  const run = new IssueManyRun(tenant, limited.baseUrl, await activeTemplate(tenant, 150), 60)
  const { exit, stdout, stderr } = await cli(run.args, run)
  expect([exit, stderr, JSON.parse(stdout).issued]).toEqual([0, '', 60])
  expect(limited.logs.filter((line) => line.includes('RATE_LIMITED')).length).toBeGreaterThan(0)
  run.expectWhole(60)
  await limited.close()
})

test('issue-many issues every row to a server that requires the encrypted transport', async () => {
  const strict = await liveServer({ secure: 'required' })
  const tenant = await newTenant(strict)
  const env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: strict.baseUrl }
  // The test client sends plain text, which this server refuses, so the CLI creates the template.
  const create =
    'templates create --external-id c --name C --type gift --issuer-name A --fulfiller-name A --fulfillment-category offline_service --acquisition-source free_claim --valid-days 3 --issue-limit 500 --submit --json --secure required'
  const { id } = JSON.parse((await cli(create, { env, home: temporaryDir() })).stdout)
  await tenant.operator(contract.platform.approveTemplate, { templateId: id })
  const run = new IssueManyRun(tenant, strict.baseUrl, id, 50)
  const plain = await cli(run.args, run)
  expect([plain.exit, JSON.parse(plain.stderr).error.code]).toEqual([10, 'SECURE_TRANSPORT_REQUIRED'])
  const { exit, stdout, stderr } = await cli([...run.args, '--resume', '--secure', 'required'], run)
  expect([exit, stderr, JSON.parse(stdout).issued]).toEqual([0, '', 50])
  run.expectWhole(50)
  await strict.close()
})
