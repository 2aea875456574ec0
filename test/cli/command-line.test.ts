import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../src/cli/command/tree.js'
import { CommandLine } from '../../src/cli/command-line.js'
import { globalFlags } from '../../src/cli/flags/globals.js'
import { entries } from '../../src/cli/program.js'
import { type Endpoint, pathParameters } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'
import { sampleOf } from '../support/extent.js'

const leaves = (await leavesOfEntries(entries)).map(([path, leaf]) => ({ path, leaf }))

async function parse(argv: readonly string[]) {
  const line = new CommandLine()
  const refusal = await line.parse(argv)
  return { line, refusal }
}

/** The long and short spelling of each flag that takes a value. */
function spellings(flags: NonNullable<(typeof leaves)[number]['leaf']['flags']>) {
  return Object.entries(flags)
    .filter(([, { value, bare }]) => value !== undefined && bare === undefined)
    .flatMap(([name, { letter }]) =>
      [`--${name}`, ...(letter === undefined ? [] : [`-${letter}`])].map((written) => ({ name, written })),
    )
}

const likeFlags = ['-h', '--version', '--json', '--', '--help', '-x']
const values = ['-', '-5', '-0.5', '']

const cases = leaves.map(({ path, leaf }) => [path.join(' '), path, leaf] as const)
/** All commands share the parser of global flags, so one command in a group and one outside suffice. */
const isSample = ([name]: (typeof cases)[number]) => ['vouchers redeem', 'whoami'].includes(name)

test.each(sampleOf(cases, isSample))(
  'the command %s refuses a flag-like word where a flag needs a value, unless it follows =',
  { tags: 'values-of-flags/1' },
  async (...it) => {
    const [, path, leaf] = it
    const isWhole = isSample(it)
    const own = spellings(leaf.flags ?? {})
    for (const { name, written } of isWhole ? [...own, ...spellings(globalFlags)] : own) {
      for (const word of isWhole ? likeFlags : likeFlags.slice(0, 1)) {
        const { refusal } = await parse([...path, written, word])
        expect(refusal, `${written} ${word}`).toMatchObject({
          code: 'USAGE',
          message: `Option '--${name}' needs a value.`,
        })
        expect((await parse([...path, `--${name}=${word}`])).line.given).toEqual(new Map([[name, [word]]]))
      }
      for (const word of isWhole ? values : values.slice(0, 1)) {
        const { line, refusal } = await parse([...path, written, word])
        expect([refusal, line.path, line.shows], `${written} ${word}`).toEqual([undefined, path, undefined])
        expect(line.given, `${written} ${word}`).toEqual(new Map([[name, [word]]]))
      }
    }
  },
)

test.each(sampleOf(cases.filter(([, , leaf]) => leaf.flags)))(
  'the command %s refuses its own flags before the command name and prints the correct order',
  { tags: 'command-line/1' },
  async (name, path, leaf) => {
    for (const [flag, { value, letter }] of Object.entries(leaf.flags ?? {})) {
      for (const written of [`--${flag}`, ...(letter === undefined ? [] : [`-${letter}`])]) {
        for (let at = 0; at < path.length; at += 1) {
          const words = value === undefined ? [written] : [written, 'apps']
          const { line, refusal } = await parse([...path.slice(0, at), ...words, ...path.slice(at)])
          const belongs = `Option '${written}' belongs after the command: \`voucherctl ${name} ${written} …\`.`
          expect([refusal?.message, line.leaf]).toEqual([belongs, undefined])
        }
      }
    }
  },
)

test.each(sampleOf(cases))('%s takes global flags in any position', { tags: 'command-line/1' }, async (_name, path) => {
  for (let at = 0; at <= path.length; at += 1) {
    const words = ['-o', 'json', '--timeout=5s', '-qn']
    const { line, refusal } = await parse([...path.slice(0, at), ...words, ...path.slice(at)])
    expect([refusal, line.path]).toEqual([undefined, path])
    expect(line.leaf).toBe(leaves.find((it) => it.path === path)?.leaf)
    expect(Object.fromEntries(line.given)).toEqual({
      output: ['json'],
      timeout: ['5s'],
      quiet: [''],
      'dry-run': [''],
    })
  }
})

test.each([
  ['-- apps get -h', '-h'],
  ['apps -- get -h', '-h'],
  ['apps get -- -h', '-h'],
  ['apps get -- --', '--'],
  ['apps get -5', '-5'],
  ['apps get -', '-'],
])('the parser reads the last word of "%s" as an operand', { tags: 'command-line/1' }, async (typed, operand) => {
  const { line, refusal } = await parse(typed.split(' '))
  expect([refusal, line.path, line.shows, line.given.size]).toEqual([undefined, ['apps', 'get'], undefined, 0])
  expect(line.operands).toEqual([operand])
})

test.each([
  ['vouchers redeem --nope --help', 'help', ['vouchers', 'redeem']],
  ['vouchers redeem a b c -h', 'help', ['vouchers', 'redeem']],
  ['--help vouchers redeem', 'help', ['vouchers', 'redeem']],
  ['help vouchers redeem', 'help', ['vouchers', 'redeem']],
  ['help voucher', 'help', ['vouchers']],
  ['apps --version', 'version', ['apps']],
  ['', 'help', []],
])('the command line "%s" selects help or version of the command that it names', async (typed, shows, path) => {
  const { line, refusal } = await parse(typed.split(' ').filter((it) => it !== ''))
  expect([refusal, line.shows, line.path]).toEqual([undefined, shows, path])
})

test('api -i routes is refused, because -i is a flag of api', { tags: 'command-line/1' }, async () => {
  const { refusal } = await parse(['api', '-i', 'routes'])
  expect(refusal).toMatchObject({ code: 'USAGE', message: "`voucherctl api routes` has no option '--include'." })
})

test('a flag without its value is an error even if --version or --help is given', async () => {
  for (const typed of ['vouchers redeem --help --code', 'vouchers redeem --version --code', '--help --output']) {
    expect((await parse(typed.split(' '))).refusal?.message).toMatch(/needs a value/)
  }
})

test.each([
  ['apps ls', 'apps list'],
  ['apps show app_01', 'apps get'],
  ['tokens rm tok_01', 'tokens revoke'],
  ['profiles rm shop', 'profiles remove'],
  ['profiles get shop', 'profiles show'],
  ['webhook rm bot_01', 'webhook delete'],
  ['webhook get', 'webhook info'],
  ['bots create', 'bots apply'],
  ['logs --follow', 'server logs'],
])('the command line "%s" runs %s', { tags: 'names-of-commands/1' }, async (typed, path) => {
  const { line, refusal } = await parse(typed.split(' '))
  expect([refusal, line.path.join(' ')]).toEqual([undefined, path])
})

test('profiles set --production without a value means on', async () => {
  for (const typed of ['profiles set shop --production', 'profiles set shop --production --yes']) {
    const { line, refusal } = await parse(typed.split(' '))
    expect([refusal, line.given.get('production')]).toEqual([undefined, ['on']])
  }
})

const withCommand = endpoints.filter((it): it is Endpoint & { readonly command: string } => it.command !== undefined)

test.each(withCommand)('the command that the contract names for $id makes that call', async ({ command, path, id }) => {
  const { line, refusal } = await parse(command.split(' '))
  expect(refusal).toBeUndefined()
  const { leaf, operands } = line
  expect(leaf?.endpoint?.id).toBe(id)
  // Each `:name` is the operand or the value of the flag that supplies the member `name`.
  const flagged = [...line.given].map(([name, [value]]) => [leaf?.flags?.[name]?.member, value])
  const supplied = [...operands.map((it) => [leaf?.positional?.member, it]), ...flagged]
  for (const [member, value] of supplied.filter(([, it]) => it !== '-')) expect(value).toBe(`:${String(member)}`)
  for (const name of pathParameters(path)) expect(supplied).toContainEqual([name, `:${name}`])
})
