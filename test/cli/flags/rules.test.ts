import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { globalFlags } from '../../../src/cli/flags/globals.js'
import { entries } from '../../../src/cli/program.js'
import { cli } from '../../support/cli/cli.js'
import { complete } from '../../support/cli/completion.js'

const flagsOfAll = (await leavesOfEntries(entries)).flatMap(([path, { flags = {} }]) =>
  Object.entries(flags).map(([name, flag]) => ({ path: path.join(' '), name, flag, flags })),
)

test('every rule between flags names flags that the command has', () => {
  const named = flagsOfAll.map(({ path, name, flag: { conflicts = [], needs = [] }, flags }) => ({
    rule: `${path} --${name}`,
    unknown: [...conflicts, ...needs].filter((it) => !Object.hasOwn({ ...globalFlags, ...flags }, it)),
  }))
  expect(named.filter(({ unknown }) => unknown.length > 0)).toEqual([])
  expect(flagsOfAll.filter(({ flag }) => flag.conflicts ?? flag.needs).length).toBeGreaterThan(30)
})

test.each([
  ['webhook trigger ping --bot b --fault stale', '--bot and --fault cannot be combined.'],
  ['webhook replay --id 1-1 --secret-file x', '--secret-file needs --resign or --set.'],
  ['webhook replay --id 1-1 --set a=1 --as-recorded --secret-file x', '--secret-file and --as-recorded cannot be com'],
  ['webhook replay --id 1-1 --resign --as-recorded', '--resign and --as-recorded cannot be combined.'],
  ['webhook set bot_1 --url http://x --secret-file x --generate-secret', '--generate-secret and --secret-file cannot'],
  ['webhook listen --bot b --max-attempts 5', '--max-attempts needs --dead-letter.'],
  ['webhook listen --bot b --dead-letter d', '--dead-letter needs --max-attempts.'],
  ['webhook listen --max-attempts 5 --dead-letter d', '--dead-letter needs --bot.'],
  ['webhook listen --retry-fast', '--retry-fast needs --bot.'],
  ['platform deliveries replay d --resign --as-sent', '--resign and --as-sent cannot be combined.'],
  ['platform clock forecast --until 2027-01-31 --in 2h', '--until and --in cannot be combined.'],
  ['vouchers issue --template t --external-id e --recipient r --chat c', '--recipient and --chat cannot be combined.'],
  ['login --with-token a --token-file b', '--with-token and --token-file cannot be combined.'],
  ['api POST /x --input a --raw-field b=c', '--input and --raw-field cannot be combined.'],
  ['api GET /x --all --curl', '--all and --curl cannot be combined.'],
  ['server start --memory --database-url postgres://h/d', '--memory and --database-url cannot be combined.'],
  ['scenario run x.yaml --export-env -', '--export-env must be a path, not -.'],
])('the command %s exits 2 with the message "%s"', { tags: 'rules-between-flags/1' }, async (args, message) => {
  const { exit, stdout, stderr } = await cli(args)
  expect([exit, stdout, stderr]).toEqual([2, '', expect.stringContaining(`error: ${message}`)])
})

test('the rules between flags are checked after wrong values and before missing ones', async () => {
  expect((await cli('templates list --all --page x')).stderr).toContain('--page must be a whole number')
  expect((await cli('vouchers issue --recipient r --chat c')).exit).toBe(2)
})

test('help and commands --json show conflicts and needs of flags', { tags: 'rules-between-flags/1' }, async () => {
  const page = (await cli('webhook trigger --help')).stdout.replace(/\s+/g, ' ')
  expect(page).toContain('(not with --url, --secret-file, --fault or --body-file)')
  expect((await cli('conform --help')).stdout).toContain('(needs --out)')
  const [{ flags }] = JSON.parse((await cli('webhook replay --help --json')).stdout)
  const rules = flags.map((it: { flag: string; conflicts: string[]; needs: string[] }) => [
    it.flag,
    it.conflicts,
    it.needs,
  ])
  expect(rules).toContainEqual(['--as-recorded', ['--resign', '--secret-file'], []])
  expect(rules).toContainEqual(['--secret-file', ['--as-recorded'], ['--resign', '--set']])
})

test('completion omits conflicting flags and offers needed ones first', { tags: 'rules-between-flags/1' }, async () => {
  const { values } = await complete('server start --data x --')
  expect(values).toContain('--seed')
  expect(values).not.toContain('--memory')
  expect((await complete('conform --resume ')).values[0]).toBe('--out')
})
