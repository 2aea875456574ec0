import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { built } from '../support/built-cli.js'
import { temporaryDir } from '../support/cli.js'
import { liveServer, temporaryFolder } from '../support/server.js'
import { type ServerChild, buildServerChild, startServerChild } from '../support/server-child.js'
import { type Tenant, newTenant, templateBody } from '../support/server-tenant.js'

const ROWS = 10_000

let removeServer: () => void
let server: ServerChild
beforeAll(async () => {
  removeServer = await buildServerChild()
  server = await startServerChild(temporaryFolder())
}, 60_000)
afterAll(async () => {
  await server.kill()
  removeServer()
})

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let it = Math.imul(state ^ (state >>> 15), 1 | state)
    it = (it + Math.imul(it ^ (it >>> 7), 61 | it)) ^ it
    return ((it ^ (it >>> 14)) >>> 0) / 2 ** 32
  }
}

function writeInput(dir: string, rows: number): string {
  const lines = Array.from({ length: rows }, (_, n) => `order-${n},user-${n}\n`)
  writeFileSync(join(dir, 'in.csv'), `external_issue_id,recipient_user_id\n${lines.join('')}`)
  return join(dir, 'in.csv')
}

/** An active template for so many vouchers. */
async function activeTemplate(tenant: Tenant): Promise<string> {
  const { data } = await tenant.runtime(contract.templates.create, templateBody({ issue_limit: 2 * ROWS }))
  await tenant.runtime(contract.templates.submit, { templateId: data.id })
  await tenant.operator(contract.platform.approveTemplate, { templateId: data.id })
  return data.id
}

async function issuedCount(tenant: Tenant): Promise<number | undefined> {
  return (await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount
}

/** Each row of the input is in the results once, each with a voucher and codes of its own. */
function expectWhole(out: string, rows: number): void {
  const lines = readFileSync(out, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','))
  const column = (at: number) => new Set(lines.map((it) => it[at]))
  expect(lines).toHaveLength(rows)
  for (const at of [0, 1, 3, 4, 5]) expect(column(at).size).toBe(rows)
  const codes = [...column(4), ...column(5)].slice(0, 200) as string[]
  const journal = readFileSync(`${out}.journal`, 'utf8')
  expect(codes.filter((code) => journal.includes(code))).toEqual([])
}

test('killed at random rows of 10,000 and gone on with: exactly 10,000 vouchers, none twice, each in the results once', async () => {
  const tenant = await newTenant(server)
  const template = await activeTemplate(tenant)
  const home = temporaryDir()
  const out = join(home, 'out.csv')
  const env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${server.port}` }
  const args = [
    'vouchers',
    'issue-many',
    writeInput(home, ROWS),
    '--template',
    template,
    '--out',
    out,
    '--resume',
    '--json',
  ]
  const random = randomFrom(20_261_121)
  const bytesOf = () => statSync(out, { throwIfNoEntry: false })?.size ?? 0
  let replayed = 0
  for (let kills = 0; kills < 5; kills += 1) {
    const child = built.start(args, home, env)
    const ended = once(child, 'exit')
    const enough = bytesOf() + 1 + random() * 250_000
    await vi.waitUntil(() => bytesOf() >= enough, { timeout: 60_000, interval: 1 })
    child.kill('SIGKILL')
    expect((await ended)[1]).toBe('SIGKILL')
  }
  const last = await built.run(args, home, env)
  expect([last.exit, last.stderr]).toEqual([0, ''])
  const summary = JSON.parse(last.stdout)
  replayed += summary.replayed
  expect(summary).toMatchObject({ total: ROWS, failed: 0 })
  expect(summary.issued + summary.replayed + summary.skipped).toBe(ROWS)
  // A kill has lost answers: else the test has proved nothing.
  expect(replayed).toBeGreaterThan(0)
  expect(await issuedCount(tenant)).toBe(ROWS)
  expectWhole(out, ROWS)
}, 240_000)

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  '%s ends a run with %i, saying how to go on, and what was in flight is in the results',
  async (signal, exit) => {
    const tenant = await newTenant(server)
    const template = await activeTemplate(tenant)
    const home = temporaryDir()
    const out = join(home, 'out.csv')
    const env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${server.port}` }
    const args = ['vouchers', 'issue-many', writeInput(home, ROWS), '--template', template, '--out', out, '--json']
    const child = built.start(args, home, env)
    let stderr = ''
    child.stderr.on('data', (chunk) => (stderr += chunk))
    await vi.waitUntil(() => (statSync(out, { throwIfNoEntry: false })?.size ?? 0) > 1_000, {
      timeout: 60_000,
      interval: 1,
    })
    child.kill(signal)
    expect((await once(child, 'close'))[0]).toBe(exit)
    const { error } = JSON.parse(stderr)
    expect(error).toMatchObject({ code: 'ABORTED', hint: expect.stringContaining('--resume') })
    expect(error.details.issued).toBe(await issuedCount(tenant))
    expectWhole(out, error.details.issued)
  },
  60_000,
)

test('a server that dies on the way and comes back: exit code 9, then every row once', async () => {
  const dataDir = temporaryFolder()
  const dying = await startServerChild(dataDir)
  const tenant = await newTenant(dying)
  const template = await activeTemplate(tenant)
  const home = temporaryDir()
  const out = join(home, 'out.csv')
  const rows = 3_000
  const env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: `http://127.0.0.1:${dying.port}` }
  const args = ['vouchers', 'issue-many', writeInput(home, rows), '--template', template, '--out', out, '--json']
  const running = built.run([...args, '--retries', '1'], home, env)
  await vi.waitUntil(() => (statSync(out, { throwIfNoEntry: false })?.size ?? 0) > 1_000, {
    timeout: 60_000,
    interval: 1,
  })
  await dying.kill()
  const { exit, stdout, stderr } = await running
  expect([exit, stdout]).toEqual([9, ''])
  expect(JSON.parse(stderr).error).toMatchObject({ code: 'NETWORK_ERROR', details: { failed: 0 } })

  const { running: back, close } = await liveServer({ dataDir, port: dying.port })
  const resumed = await built.run([...args, '--resume'], home, env)
  expect([resumed.exit, resumed.stderr]).toEqual([0, ''])
  expect(JSON.parse(resumed.stdout)).toMatchObject({ total: rows, failed: 0 })
  expect(back.baseUrl).toBe(env.VOUCHERCTL_BASE_URL)
  expectWhole(out, rows)
  await close()
}, 120_000)

test('a server with a rate limit is waited for: no row fails', async () => {
  const limited = await liveServer({ rateLimits: { issue: { calls: 40, seconds: 1 } } })
  const tenant = await newTenant(limited)
  const template = await activeTemplate(tenant)
  const home = temporaryDir()
  const env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: limited.baseUrl }
  const args = ['vouchers', 'issue-many', writeInput(home, 150), '--template', template, '--out', 'out.csv', '--json']
  const { exit, stdout, stderr } = await built.run(args, home, env)
  expect([exit, stderr, JSON.parse(stdout).issued]).toEqual([0, '', 150])
  expect(limited.logs.filter((line) => line.includes('RATE_LIMITED')).length).toBeGreaterThan(0)
  expectWhole(join(home, 'out.csv'), 150)
  await limited.close()
}, 60_000)

test('the same through the encrypted transport', async () => {
  const strict = await liveServer({ requireSecure: true })
  const tenant = await newTenant(strict)
  const home = temporaryDir()
  const env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: strict.baseUrl }
  const template = await (async () => {
    // The tenant speaks in plain text, which this server refuses: the command line does not.
    const make =
      'templates create --external-id c --name C --type gift --issuer-name A --fulfiller-name A --fulfillment-category offline_service --acquisition-source free_claim --valid-days 3 --issue-limit 500 --submit --json --secure required'
    const { id } = JSON.parse((await built.run(make.split(' '), home, env)).stdout)
    await tenant.operator(contract.platform.approveTemplate, { templateId: id })
    return id as string
  })()
  const args = ['vouchers', 'issue-many', writeInput(home, 100), '--template', template, '--out', 'out.csv', '--json']
  const plainly = await built.run(args, home, env)
  expect([plainly.exit, JSON.parse(plainly.stderr).error.code]).toEqual([10, 'SECURE_TRANSPORT_REQUIRED'])
  const { exit, stdout, stderr } = await built.run([...args, '--resume', '--secure', 'required'], home, env)
  expect([exit, stderr, JSON.parse(stdout).issued]).toEqual([0, '', 100])
  expectWhole(join(home, 'out.csv'), 100)
  await strict.close()
}, 60_000)
