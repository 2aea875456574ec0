import { readFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { defaultSeed } from '../../../src/testing/options.js'
import { cli } from '../../support/cli/cli.js'

const schemaOf = (name: string) =>
  Compile(JSON.parse(readFileSync(new URL(`../../../dist/schemas/${name}.schema.json`, import.meta.url), 'utf8')))
const scenario = schemaOf('scenario')
const guide = readFileSync(new URL('../../../src/guides/scenario-files.md', import.meta.url), 'utf8')

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
  test('JSON Schema accepts the scenarios of the guide and of the quickstart', () => {
    const texts = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text as string)
    expect(texts.length).toBeGreaterThan(1)
    const scenarios = [...texts, readFileSync('src/guides/quickstart.yaml', 'utf8')].map((it) => parse(it))
    for (const it of scenarios) expect(scenario.Check(it), it.name).toBe(true)
  })

  test.each([
    ['refuses', 'receive: my_chat_membr'],
    ['refuses', 'call: apps.creat'],
    ['refuses', 'call: apps.create\n    with: { nam: Shop }'],
    ['refuses', 'call: apps.create\n    with: { name: 3 }'],
    ['refuses', 'call: apps.create\n    expct: {}'],
    ['refuses', 'advance: 1s\n    with: {}'],
    ['refuses', 'name: x'],
    ['accepts', 'call: POST /anything\n    with: { any: 1 }'],
    ['accepts', 'call: bots.send\n    with: { chat_id: "${chat}", text: "Hi ${run}" }'],
    ['accepts', 'call: templates.list\n    with: { limit: "${limit}" }\n    within: 5s'],
    ['accepts', 'receive: message\n    expect: { that: .a, data: { a: 1 } }'],
  ])('%s the step %j', (verb, text) => {
    expect(scenario.Check(parse(`steps:\n  - ${text}`))).toBe(verb === 'accepts')
  })
})

describe('JSON Schemas of the files of a server', () => {
  test('JSON Schemas accept the default seed, and refuse an unknown member and a wrong id form', () => {
    const seed = schemaOf('seed')
    expect(seed.Check(defaultSeed)).toBe(true)
    expect(seed.Check({ ...defaultSeed, templates: [] })).toBe(false)
    expect(seed.Check({ ...defaultSeed, bots: [{ id: 'shop', name: 'Shop bot', username: 'shop_bot' }] })).toBe(false)
  })
})
