import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { contract } from '../../../../src/contract/index.js'
import { built } from '../../../support/cli/built-cli.js'
import { activeTemplate, IssueManyRun } from '../../../support/cli/issue-many.js'
import { standaloneServer, temporaryFolder } from '../../../support/server/server.js'
import { newTenant } from '../../../support/server/tenant.js'

const patient = { timeout: 60_000, interval: 1 }
const ROWS = 1_000

test('redeem-many and reverse-many, killed and resumed, act once on a row', { tags: 'bulk-commands/3' }, async () => {
  // The server runs in this process, so that rows wait whenever the test that kills the command has to wait.
  const server = await standaloneServer({ dataDir: temporaryFolder() })
  const tenant = await newTenant(server)
  const template = await activeTemplate(tenant, ROWS)
  const { home, env, args, out } = new IssueManyRun(tenant, server.baseUrl, template, ROWS)
  expect((await built.run(args, home, env)).exit).toBe(0)

  const path = (name: string) => join(home, name)
  const many = (command: string, input: string, name: string) =>
    ['vouchers', command, input, '--out', path(name), '--json'] as const
  const summaryOf = async (words: readonly string[], exit = 0) => {
    const ran = await built.run(words, home, env)
    expect([ran.exit, ran.stderr]).toEqual([exit, ''])
    return JSON.parse(ran.stdout)
  }
  const redemptions = (name: string) =>
    readFileSync(path(name), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(',')[1] as string)

  /** Kills the command after its first results, resumes it, and checks that each row has one result. */
  async function killAndResume(words: readonly string[], name: string, counter: string) {
    const child = built.start(words, home, env)
    const ended = once(child, 'exit')
    // A run skips the rows that the journal lists, which is written after the results.
    const journal = path(`${name}.journal`)
    await vi.waitUntil(() => (statSync(journal, { throwIfNoEntry: false })?.size ?? 0) > 10_000, patient)
    child.kill('SIGKILL')
    expect((await ended)[1]).toBe('SIGKILL')
    const summary = await summaryOf([...words, '--resume'])
    expect(summary).toMatchObject({ total: ROWS, failed: 0 })
    expect(summary[counter] + summary.replayed + summary.skipped).toBe(ROWS)
    expect([summary.skipped > 0, summary[counter] > 0]).toEqual([true, true])
    expect(new Set(redemptions(name)).size).toBe(ROWS)
    expect(redemptions(name)).toHaveLength(ROWS)
  }

  await killAndResume(many('redeem-many', out, 'redeemed.csv'), 'redeemed.csv', 'redeemed')
  const codes = readFileSync(out, 'utf8').split(/[,\n]/)
  const secrets = codes.filter((it) => it.startsWith('VQ1-') || /^\w{4}(-\w{4}){3}$/.test(it))
  const journal = readFileSync(path('redeemed.csv.journal'), 'utf8')
  expect([secrets.length, secrets.filter((it) => journal.includes(it))]).toEqual([2 * ROWS, []])

  await killAndResume(many('reverse-many', path('redeemed.csv'), 'reversed.csv'), 'reversed.csv', 'reversed')

  // After the reversal the same file is redeemed again, which keys of the rows alone would replay.
  const again = await summaryOf(many('redeem-many', out, 'again.csv'))
  expect(again).toMatchObject({ redeemed: ROWS, replayed: 0, failed: 0 })
  const first = new Set(redemptions('redeemed.csv'))
  expect(redemptions('again.csv').filter((it) => first.has(it))).toEqual([])
  const refused = await summaryOf(many('redeem-many', out, 'refused.csv'), 11)
  expect(refused).toMatchObject({ redeemed: 0, failures: { VOUCHER_ALREADY_REDEEMED: ROWS } })

  const verified = await summaryOf([...many('verify-many', out, 'verified.csv'), '--check'], 6)
  expect(verified).toMatchObject({ verified: ROWS, redeemable: 0, reasons: { already_redeemed: ROWS } })
  writeFileSync(path('one.csv'), `redemption_id\n${redemptions('again.csv')[0]}\n`)
  await summaryOf(many('reverse-many', path('one.csv'), 'one-reversed.csv'))
  const { data } = await tenant.runtime(contract.vouchers.redemption, {
    redemptionId: redemptions('again.csv')[0] as string,
  })
  expect(data.status).toBe('reversed')
  await server.close()
})
