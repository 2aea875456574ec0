import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commandLine } from '../../../src/cli/command/call-line.js'
import { inputOf } from '../../../src/cli/command/member-flags.js'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { CommandLine } from '../../../src/cli/command-line.js'
import { readFlags } from '../../../src/cli/flags/flags.js'
import { entries } from '../../../src/cli/program.js'
import { type Endpoint, membersOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import { wordsOf } from '../../support/cli/runnable.js'
import { allowedBy } from '../../support/from-schema.js'

const leaves = await leavesOfEntries(entries)

/** Parses a line as the program does, and returns the input of its call. */
async function inputIn(text: string) {
  const line = new CommandLine()
  const refused = await line.parse(wordsOf(text).slice(1))
  const { flags = {}, positional } = line.leaf ?? {}
  const { values, failure } = readFlags(flags, line.given)
  return refused ?? failure ?? inputOf(flags, positional, { flags: values, positional: line.operands[0] })
}

/** Removes what no line has: empty texts and lists, and `false` unless the call changes a record. */
function typed(value: unknown, method: string): unknown {
  if (value === '' || value === null || (value === false && method !== 'PATCH')) return undefined
  if (typeof value !== 'object') return value
  const entries = Object.entries(value).flatMap(([name, it]) => {
    const kept = typed(it, method)
    return kept === undefined ? [] : [[name, kept]]
  })
  if (entries.length === 0) return undefined
  return Array.isArray(value) ? entries.map(([, it]) => it) : Object.fromEntries(entries)
}

/** Members that no flag sets: the command makes them from other values, or from a value with a unit. */
const made: Readonly<Record<string, readonly string[]>> = {
  'templates create': ['validity'],
  'vouchers verify': ['credential'],
  'vouchers redeem': ['credential'],
  // An object holds these pairs, so that a number comes first and no key comes twice.
  'bots update': ['links', 'command_menus'],
  'bots updates': ['timeout'],
  'webhook set': ['secret_token', 'secret_grace_seconds'],
  'platform deliveries replay': ['mode', 'body'],
  'platform totals': ['seconds', 'from', 'to'],
  'platform clock advance': ['seconds'],
  'platform clock forecast': ['seconds'],
  'platform activity': ['names', 'bodies', 'follow'],
  'platform snapshots restore': ['shared'],
  'platform reset': ['shared'],
}

/** Generates inputs with and without each member. */
function inputsOf({ method, params, query, body }: Endpoint, without: readonly string[]) {
  const members = Object.entries({ ...membersOf(params), ...membersOf(query), ...membersOf(body) })
  const generated = members.filter(([name]) => !without.includes(name)).map(([name, it]) => [name, allowedBy(it)])
  const inputs = fc.record(Object.fromEntries(generated), { requiredKeys: [], noNullPrototype: true })
  return inputs.map((it) => (typed(it, method) ?? {}) as Record<string, unknown>)
}

const commands = leaves.flatMap(([path, { endpoint }]) =>
  endpoint === undefined ? [] : [{ name: path.join(' '), endpoint }],
)

test.each(commands)('command line of $name has the input from which it was made', async ({ name, endpoint }) => {
  await fc.assert(
    fc.asyncProperty(inputsOf(endpoint, made[name] ?? []), async (input) => {
      const line = commandLine(leaves, endpoint, input)
      expect(typed(await inputIn(line), endpoint.method) ?? {}, line).toEqual(input)
    }),
    { seed: 1, numRuns: 10 },
  )
})

test.each([
  ['login --local --account demo', contract.platform.issueAccountToken, { accountId: 'demo' }],
  ['vouchers issue --template tpl_1 --chat chat_1', contract.bots.issue, { chat_id: 'chat_1', template_id: 'tpl_1' }],
  ['vouchers verify VQ1-A', contract.vouchers.verify, { credential: { type: 'qr_token', value: 'VQ1-A' } }],
  ['webhook set bot_1 --url https://a', contract.webhook.set, { botId: 'bot_1', url: 'https://a', secret_token: 's' }],
  ['platform clock advance --in 60', contract.platform.advanceClock, { seconds: 60 }],
  [
    "bots update bot_1 --link 'Our shop=https://a' --contact-email a@b",
    contract.bots.update,
    { botId: 'bot_1', links: [{ title: 'Our shop', url: 'https://a' }], contact: { email: 'a@b' } },
  ],
])('command line of a call is voucherctl %s', (expected, endpoint, input) => {
  expect(commandLine(leaves, endpoint, input)).toBe(`voucherctl ${expected}`)
})
