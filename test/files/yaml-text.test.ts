import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as yaml from 'yaml'
import { encodeYaml } from '../../src/cli/output/encode.js'
import { yamlOptions } from '../../src/files/yaml-text.js'
import { scenarioText } from '../../src/recorder/write.js'
import { anyCharacter } from '../support/any-character.js'
import { cli, secrets, stub, success } from '../support/cli/cli.js'
import { pageOf, template } from '../support/cli/samples.js'

/** Texts that some reader takes for another type, or for structure. */
const texts = [
  ...['no', 'No', 'y', 'N', 'on', 'OFF', 'yes', 'true', 'False', 'null', 'Null', '~', '', '=', '<<', '<', ':a', ':'],
  ...['1:30', '1:30:00', '-1:30', '1_000', '1_000.5', '+1_0', '_1', '._', '.5', '5.', '1e3', '1.e+3', '1,000', '0x1F'],
  ...['0o17', '0777', '0b1', '+.inf', '-.INF', '.nan', '.', '+', '-', '--', '-0', '+12', '.e+3', '1e', 'e3', '08'],
  ...['2001-12-14', '2001-1-1', '2001-12-14t21:59:43.10-05:00', '2001-12-14 21:59:43 Z', '2026-11-21T10:00:05.123Z'],
  ...['%YAML 1.1', '@a', '`a', '!a', '&a', '*a', '|', '>', '- a', '? a', '?', '?a', '#a', 'a #b', 'a: b', 'a:', 'a:b'],
  ...['---', '--- a', '...', 'a\n---\nb', 'a\n%b', '[a', ']', '{a}', 'a,b', "'a", '"a', `a'b"c`, 'a?', 'what? b'],
  ...[
    ' a',
    'a ',
    'a\tb',
    '\ta',
    'a\t',
    '\n',
    'a\n',
    '\na',
    ' \n',
    '\n \n',
    ' \n\n',
    'a\n\n',
    ' a\nb',
    'a\n b\n',
    'a \nb',
    'a\n\tb',
    'a\r\nb',
    '\r',
  ],
  ...[
    '\u0085',
    'a\u0085b',
    'a\u2028b',
    'a\u2029',
    '\u00a0a',
    '\ufeffa',
    'a\ufeff',
    '\ufffe',
    '\u0000',
    '\u001b[1m',
    '\u007f',
  ],
  ...['\ud800', 'é', '日本', '😀', '\u202eab', '.id', '$.a', '${app}', '/a/b', 'a'.repeat(200), 'https://a/?b=c'],
]

const recordsOf = (all: readonly string[]) => ({
  values: all,
  keys: Object.fromEntries(all.map((text) => [text, text])),
})

/** Reads YAML in all versions of the library. */
const readings = (text: string) =>
  [{ version: '1.1', merge: true }, { version: '1.1', schema: 'core' }, { version: '1.2' }].map((options) =>
    yaml.parse(text, options as yaml.DocumentOptions),
  )

const inFlow = (data: unknown) => {
  const document = new yaml.Document(data, yamlOptions)
  yaml.visit(document, { Collection: (_key, node) => void (node.flow = true) })
  return document.toString({ lineWidth: 0 })
}

test('YAML output reads alike in 1.1 and 1.2 for texts that look like others', { tags: 'yaml-files/1' }, async () => {
  const records = recordsOf(texts)
  for (const text of [await encodeYaml(records), inFlow(records)])
    for (const read of readings(text)) expect(read).toEqual(records)
})

test('YAML output reads alike in versions 1.1 and 1.2 for any text', async () => {
  const parts = [
    '\n',
    ' ',
    '\t',
    ':',
    '#',
    '-',
    '?',
    '.',
    '0',
    '1',
    '_',
    'e',
    '+',
    '=',
    "'",
    '"',
    '{',
    ',',
    'a',
    '%',
    '\u0085',
  ]
  const unit = fc.oneof(fc.constantFrom(...parts), fc.string({ unit: anyCharacter, maxLength: 1 }))
  const any = fc.array(
    fc.array(unit, { maxLength: 8 }).map((it) => it.join('')),
    { maxLength: 4 },
  )
  await fc.assert(
    fc.asyncProperty(any, async (all) => {
      const records = recordsOf(all)
      for (const text of [await encodeYaml(records), inFlow(records)])
        for (const read of readings(text)) expect(read).toEqual(records)
    }),
    { numRuns: 20 },
  )
})

test('-o yaml quotes values and names that YAML 1.1 takes for other types', { tags: 'yaml-files/1' }, async () => {
  const data = { ...template, name: 'no', metadata: { '1:30': '1_000', on: '=' }, rate: 1e21, small: 5e-7 }
  const { baseUrl } = await stub(() => success(pageOf(data as never)))
  const { stdout } = await cli(`templates list -o yaml --base-url ${baseUrl}`, { env: secrets })
  for (const read of readings(stdout)) expect(read).toEqual(pageOf(data as never))
  expect(stdout).toContain('    rate: 1.0e+21\n    small: 5.0e-7\n')
})

test('a recorded scenario reads alike in YAML 1.1 and 1.2', async () => {
  const steps = texts.map((text) => ({
    members: { call: 'api', with: { name: text, deep: { [text]: text } }, key: text },
    ...{ comments: [], capture: { a: text }, use: {} },
  }))
  const draft = { autoApprove: false, respond: '500,200', steps, comments: [] }
  const { parts } = await scenarioText('no', draft as never, yaml, (items) => items)
  const text = parts.join('')
  const [first, ...others] = readings(text)
  expect(first.steps.map((it: { key: string }) => it.key)).toEqual(texts)
  for (const read of others) expect(read).toEqual(first)
})

const hasPython = spawnSync('python3', ['-c', 'import yaml']).status === 0

test.skipIf(!hasPython)('PyYAML reads YAML output as it was written', async () => {
  const numbers = [1e21, 5e-7, -1.5e300, 0.1, -0, 12, true, null]
  const records = { ...recordsOf(texts), numbers }
  const code = 'import sys,json,yaml; print(json.dumps([yaml.safe_load(it) for it in json.load(sys.stdin)]))'
  const input = JSON.stringify([await encodeYaml(records), inFlow(records)])
  const { stdout, stderr } = spawnSync('python3', ['-c', code], { input, encoding: 'utf8' })
  expect(stderr).toBe('')
  for (const read of JSON.parse(stdout)) expect(read).toEqual(JSON.parse(JSON.stringify(records)))
})
