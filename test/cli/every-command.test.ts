import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../src/cli/command/tree.js'
import { globalFlags } from '../../src/cli/flags/globals.js'
import { entries } from '../../src/cli/program.js'
import { cli, redeemCode, secrets, stub, success } from '../support/cli/cli.js'
import { howToAdd, matrix } from '../support/cli/matrix.js'
import { leafCalls } from '../support/cli/samples.js'
import { closedPort } from '../support/closed-port.js'
import { sampleOf } from '../support/extent.js'

const leaves = (await leavesOfEntries(entries)).map(([names, leaf]) => [names.join(' '), leaf] as const)
const calls = sampleOf(Object.entries(leafCalls))
const once = '--retries 0'

test('the test matrix has a row for every command of the CLI and no other row', () => {
  expect(leaves.map(([path]) => path).sort(), howToAdd).toEqual(Object.keys(matrix).sort())
})

test.each(leaves)('the command %s has a summary and an example', (path, leaf) => {
  expect(leaf.summary).not.toBe('')
  expect(leaf.examples.length).toBeGreaterThan(0)
  for (const { command } of leaf.examples) expect(command).toContain(`voucherctl ${path}`)
})

test('no command has a flag with the name or letter of a global flag', () => {
  const letters = new Map(
    Object.entries(globalFlags).flatMap(([name, flag]) => ('letter' in flag ? [[flag.letter, name]] : [])),
  )
  expect(letters.size).toBe(Object.values(globalFlags).filter((flag) => 'letter' in flag).length)
  for (const [, leaf] of leaves) {
    for (const [name, flag] of Object.entries(leaf.flags ?? {})) {
      expect(Object.keys(globalFlags)).not.toContain(name)
      expect(flag.letter === undefined || !letters.has(flag.letter)).toBe(true)
    }
  }
})

test.each(leaves)(
  'the command %s is marked as having side effects if and only if its sample is a mutation',
  (path, leaf) => {
    if (leafCalls[path] !== undefined) expect(leaf.changes ?? false).toBe(leafCalls[path]?.changes ?? false)
  },
)

test.each(calls)(
  'the command %s without --json prints a table on stdout and nothing on stderr',
  async (path, { args, data }) => {
    const { baseUrl } = await stub(() => success(data))
    const ran = await cli(`${path} ${args} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    expect(ran.stdout.trim()).not.toBe('')
    expect(ran.stdout).not.toMatch(/undefined|\[object|NaN/)
  },
)

test.each(calls)('the command %s --json exits 9 if no server listens', async (path, { args }) => {
  const baseUrl = `http://127.0.0.1:${await closedPort()}`
  const ran = await cli(`${path} ${args} --json ${once} --base-url ${baseUrl}`, { env: secrets })
  expect(ran.stdout).toBe('')
  expect(ran.exit).toBe(9)
  expect(JSON.parse(ran.stderr).error).toMatchObject({ code: 'NETWORK_ERROR', status: null })
})

test.each(calls.filter(([, it]) => it.bare !== undefined))(
  'the command %s without arguments or terminal exits 3 and names the missing value',
  async (path, { bare }) => {
    const { baseUrl, received } = await stub(() => success({}))
    const ran = await cli(`${path} --json --base-url ${baseUrl}`, { env: secrets })
    expect(ran.exit).toBe(3)
    expect(ran.stdout).toBe('')
    expect(JSON.parse(ran.stderr).error.code).toBe(bare === '--yes' ? 'CONFIRMATION_REQUIRED' : 'INPUT_REQUIRED')
    expect(ran.stderr).toContain(bare)
    expect(received).toEqual([])
  },
)

test.each(calls)('the command %s exits 3 without a credential and says how to provide one', async (path, { args }) => {
  const { baseUrl, received } = await stub(() => success({}))
  const ran = await cli(`${path} ${args} --base-url ${baseUrl}`)
  expect(ran.exit).toBe(3)
  expect(ran.stderr).toMatch(/hint: .*--token-file.*VOUCHERCTL_/)
  expect(received).toEqual([])
})

test.each(calls)('%s --dry-run sends nothing, hides secrets', { tags: 'hidden-values/1' }, async (path, { args }) => {
  const { baseUrl, received } = await stub(() => success({}))
  for (const format of ['--json', '']) {
    const ran = await cli(`${path} ${args} --dry-run ${format} --base-url ${baseUrl}`, { env: secrets })
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    expect(ran.stdout).toContain(`${baseUrl}/`)
    expect(ran.stdout).toContain('Bearer ')
    expect(ran.stdout).not.toMatch(/CANARYtoken|CANARYjwt|CANARYoperator/)
    expect(ran.stdout).not.toContain(redeemCode)
    if (format === '--json')
      expect(JSON.parse(ran.stdout)).toMatchObject({ dry_run: true, requests: [{ method: expect.any(String) }] })
  }
  expect(received).toEqual([])
})

test.each(calls)('%s --debug prints no secret, echoed or not', { tags: 'hidden-values/1' }, async (path, { args }) => {
  const { baseUrl } = await stub(({ headers }) => ({
    status: 400,
    body: { success: false, code: 'VALIDATION_FAILED', message: `saw ${headers.authorization}` },
  }))
  const ran = await cli(`${path} ${args} --debug ${once} --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(8)
  expect(ran.stderr).toContain('debug: > authorization: Bearer ')
  expect(ran.stderr + ran.stdout).not.toMatch(/CANARYtoken|CANARYjwt|CANARYoperator/)
})

/** Commands that exit 9 for response data `{}` or null, because they require some members. */
const requiresMembers =
  /^(?:server keys rotate|tokens create|vouchers (?:issue|verify|redeem|reverse)|bots (?:apply|regenerate-token|updates)|open|platform (?:find|reviews|totals|chats messages)|webhook deliveries|.* list)$/

test.each(calls)(
  'the command %s exits 9 for empty response data only if it requires members',
  async (path, { args }) => {
    for (const data of [{}, null]) {
      const { baseUrl } = await stub(() => success(data))
      for (const format of ['', '--json', '-o csv']) {
        const ran = await cli(`${path} ${args} ${format} --base-url ${baseUrl}`, { env: secrets })
        if (requiresMembers.test(path)) {
          expect([ran.exit, ran.stdout]).toEqual([9, ''])
          expect(ran.stderr).toMatch(/Not a response of a voucher service \(status 200\): data\.\w+ is missing/)
        } else expect([ran.exit, ran.stderr]).toEqual([0, ''])
        expect(ran.stdout).not.toMatch(/undefined/)
      }
    }
  },
)
