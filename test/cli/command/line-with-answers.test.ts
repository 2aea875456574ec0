import { expect, test } from 'vitest'
import type { Leaf } from '../../../src/cli/command/leaf.js'
import { LineWithAnswers } from '../../../src/cli/command/line-with-answers.js'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { entries } from '../../../src/cli/program.js'
import { type Endpoint, membersOf } from '../../../src/contract/endpoint.js'

const commands = (await leavesOfEntries(entries)).map(([names, leaf]) => ({ name: names.join(' '), leaf }))

const nameOf = (leaf: Leaf, pointer: string, given: Readonly<Record<string, readonly string[]>> = {}) =>
  new LineWithAnswers({ path: [], given: new Map(Object.entries(given)), operands: [], leaf }).nameOf(pointer)

const leafNamed = (name: string) => commands.find((it) => it.name === name)?.leaf as Leaf

test('every member of an API call is named by a flag or an argument of the command', () => {
  const unnamed = commands.flatMap(({ name, leaf }) => {
    const { endpoint } = leaf as { endpoint?: Endpoint }
    if (endpoint === undefined) return []
    const parameters = [...endpoint.path.matchAll(/:([A-Za-z]+)/g)].map(([, it]) => it as string)
    const members = [...parameters, ...Object.keys(membersOf(endpoint.query)), ...Object.keys(membersOf(endpoint.body))]
    return members.filter((it) => nameOf(leaf, `/${it}`) === undefined).map((it) => `${name}: ${it}`)
  })
  // The commands derive these members from --timeout and from --yes. Only `scenario record` needs names of secrets.
  const derived = [
    'bots updates: timeout',
    'platform activity: names',
    'platform snapshots restore: shared',
    'platform reset: shared',
  ]
  expect(unnamed).toEqual(derived)
})

test.each([
  ['templates create', '/validity/starts_at', {}, '--valid-from'],
  ['templates create', '/validity', { 'valid-days': ['3'] }, '--valid-days'],
  ['templates create', '/validity', { 'valid-from': ['a'], 'valid-to': ['b'] }, '--valid-from, --valid-to'],
  ['templates create', '/validity/starts_at', { file: ['coffee.json'] }, 'validity.starts_at in coffee.json'],
  ['templates create', '/name', { file: ['-'], name: ['x'] }, '--name'],
  ['templates create', '/metadata/shop', { metadata: ['shop=1'] }, '--metadata shop'],
  [
    'apps create',
    '/allowed_origins/1',
    { 'allowed-origin': ['https://a', 'ftp://b c'] },
    `--allowed-origin 'ftp://b c'`,
  ],
  ['apps get', 'appId', {}, 'APP_ID'],
  ['vouchers verify', '/credential/value', { 'qr-token': ['x'] }, '--qr-token'],
  ['templates create', 'coffee.json:2:3', { file: ['coffee.json'] }, undefined],
  ['templates create', '/home/coffee.json:2:3', { file: ['/home/coffee.json'] }, undefined],
  ['vouchers redeem', '/credential/value', {}, 'CODE'],
  ['templates list', 'limit', {}, '--limit'],
  ['platform clock set', '/now', {}, 'TIME'],
  ['apps create', '/unknown', {}, undefined],
])('command line names the member of %s at %s with the flags %j as %s', (name, pointer, given, expected) => {
  expect(nameOf(leafNamed(name), pointer, given as Record<string, string[]>)).toBe(expected)
})
