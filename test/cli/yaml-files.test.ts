import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { cli, secrets, temporaryDir } from '../support/cli/cli.js'

const scenario = 'steps:\n  - create_application: { name: Shop }\n'

test.each([
  ['scenario run file.yaml', scenario],
  ['server start --memory --port 0 --seed file.yaml', 'account: acme\n'],
  ['templates apply -f file.yaml --base-url http://127.0.0.1:1', '{}\n'],
  ['templates diff -f file.yaml --base-url http://127.0.0.1:1', '{}\n'],
])('%s refuses a second document with its line and exits 2', { tags: 'yaml-files/1' }, async (command, first) => {
  const home = temporaryDir()
  writeFileSync(join(home, 'file.yaml'), `${first}---\nmust: fail\n`, { mode: 0o600 })
  const { exit, stdout, stderr } = await built.run([...command.split(' '), '--json'], home, secrets)
  expect([exit, stdout]).toEqual([2, ''])
  const line = first.split('\n').length
  expect(JSON.parse(stderr).error.details.errors).toContainEqual({
    pointer: `file.yaml:${line}:1`,
    message: 'A second document starts here. A file holds one.',
  })
})

/** Runs a command of the bundle on a YAML file; returns the places and messages of its mistakes. */
async function mistakesIn(command: string, text: string) {
  const home = temporaryDir()
  writeFileSync(join(home, 'file.yaml'), text, { mode: 0o600 })
  const { exit, stderr } = await cli(`${command} --json`, { home, cwd: home, env: secrets })
  expect(exit).toBe(2)
  const { errors } = JSON.parse(stderr).error.details as { errors: { pointer: string; message: string }[] }
  return errors.map((it) => `${it.pointer} ${it.message}`)
}

const list = (id: string, more = '') =>
  `steps:\n  - { call: templates.list, with: { external_template_id: ${id} }${more} }\n`

test.each([
  ['a number in a query', list('0123'), 2, 37],
  ['a number in a query of a step that expects a refusal', list('0123', ', expect: { status: 404 }'), 2, 37],
  ['null in a query of a step that expects a refusal', list('~', ', expect: { status: 400 }'), 2, 37],
  ['a boolean in a path', 'steps:\n  - { call: templates.submit, with: { templateId: true } }\n', 2, 39],
  ['a number in a body', 'steps:\n  - { call: apps.create, with: { name: 12 } }\n', 2, 34],
  ['a number in an idempotency key', 'steps:\n  - { call: apps.create, key: 0123, with: { name: a } }\n', 2, 26],
  ['a number that a variable holds', `vars: { id: 5 }\n${list('"${id}"')}`, 3, 37],
  ['a number that a variable of a variable holds', `vars: { a: 5, id: "\${a}" }\n${list('"${id}"')}`, 3, 37],
  ['a variable with a leading zero', `vars: { id: 0123 }\n${list('"a-${id}"')}`, 1, 13],
  ['a variable that is too long for a number', `vars: { ids: [12345678901234567890] }\n${list('a')}`, 1, 15],
  ['a variable that YAML 1.1 takes for a date', `%YAML 1.1\n---\nvars: { id: 2001-12-14 }\n${list('a')}`, 3, 13],
])('scenario run refuses %s with its place before anything is sent', async (_what, text, line, column) => {
  const [first] = await mistakesIn('scenario run file.yaml --base-url http://127.0.0.1:1', text)
  expect(first).toContain(`file.yaml:${line}:${column} `)
})

const seed = (id: string) => `account: a
applications:
  - id: app_01JC0000000000000000000000
    name: Shop
    templates:
      - { id: tpl_01JC0000000000000000000000, external_template_id: ${id} }
`
const templates = (id: string, metadata = '{}') =>
  `templates:\n  - external_template_id: ${id}\n    metadata: ${metadata}\n`

test.each([
  ['server start --memory --port 0 --seed', seed('0123'), 'file.yaml:6:47 '],
  [
    'templates apply --base-url http://127.0.0.1:1 -f',
    templates('0123'),
    'file.yaml:2:5 external_template_id must be a text',
  ],
  [
    'templates apply --base-url http://127.0.0.1:1 -f',
    templates('a', '{ shop: 0123 }'),
    'file.yaml:3:17 shop must be a text',
  ],
])('%s refuses a number in place of a text and says that a text needs quotes', async (command, text, expected) => {
  const mistakes = await mistakesIn(`${command} file.yaml`, text)
  const found = mistakes.find((it) => it.startsWith(expected))
  expect(found).toContain('(this is a number: a text that looks like one needs quotes)')
})
