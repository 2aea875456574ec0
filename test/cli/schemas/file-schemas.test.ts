import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { defaultSeed } from '../../../src/testing/options.js'
import { cli } from '../../support/cli/cli.js'

const schemaOf = (name: string) =>
  Compile(JSON.parse(readFileSync(new URL(`../../../dist/schemas/${name}.schema.json`, import.meta.url), 'utf8')))
const scenario = schemaOf('scenario')
const guide = readFileSync(new URL('../../../src/cli/commands/scenario/README.md', import.meta.url), 'utf8')
const step = (text: string) => parse(`steps:\n  - ${text}`)

test.each(['templates', 'scenario'])('JSON Schema accepts the file that %s init writes', async (group) => {
  const { stdout } = await cli(`${group} init -`)
  expect(schemaOf(group).Check(parse(stdout))).toBe(true)
})

test('JSON Schema of template files refuses an unknown member and an invalid value', async () => {
  const { stdout } = await cli('templates init -')
  for (const [from, to] of [
    ['name:', 'nam:'],
    ['duration_days: 30', 'duration_days: 0'],
    ['offline_service', 'online'],
  ] as const)
    expect(schemaOf('templates').Check(parse(stdout.replace(from, to))), to).toBe(false)
})

describe('JSON Schema of scenario files', () => {
  test('accepts the scenarios of the guide', () => {
    const scenarios = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => parse(text as string))
    expect(scenarios.length).toBeGreaterThan(1)
    for (const it of scenarios) expect(scenario.Check(it), it.name).toBe(true)
  })

  test.each([
    'receive: my_chat_membr',
    'call: apps.creat',
    'call: apps.create\n    with: { nam: Shop }',
    'call: apps.create\n    with: { name: 3 }',
    'call: apps.create\n    expct: {}',
    'advance: 1s\n    with: {}',
    'name: x',
  ])('refuses the step %j', (text) => {
    expect(scenario.Check(step(text))).toBe(false)
  })

  test.each([
    'call: POST /anything\n    with: { any: 1 }',
    'call: bots.send\n    with: { chat_id: "${chat}", text: "Hi ${run}" }',
    'call: templates.list\n    with: { limit: "${limit}" }\n    within: 5s',
    'receive: message\n    expect: { that: .a, data: { a: 1 } }',
  ])('accepts the step %j', (text) => {
    expect(scenario.Check(step(text))).toBe(true)
  })
})

describe('JSON Schemas of the files of a server', () => {
  const differences = schemaOf('differences')

  test('accept the default seed, and refuse an unknown member and an id of another form', () => {
    const seed = schemaOf('seed')
    expect(seed.Check(defaultSeed)).toBe(true)
    expect(seed.Check({ ...defaultSeed, templates: [] })).toBe(false)
    expect(seed.Check({ ...defaultSeed, bots: [{ id: 'shop', name: 'Shop bot', username: 'shop_bot' }] })).toBe(false)
  })

  test.each([
    'rate-limits: { reads: 2/600 }\nreversal: { window_days: 30 }',
    'failure-codes: { VOUCHER_NOT_FOUND: No such voucher. }',
    'application-tokens: { default_days: 7, max: 3 }',
  ])('accept the differences %j', (text) => {
    expect(differences.Check(parse(text))).toBe(true)
  })

  test.each([
    'lists: { limit: 50 }',
    'reversal: { days: 3 }',
    'reversal: { window_days: 0 }',
    'rate-limits: { issue: 5 }',
    'failure-codes: { NO_CODE: x }',
  ])('refuse the differences %j', (text) => {
    expect(differences.Check(parse(text))).toBe(false)
  })
})
