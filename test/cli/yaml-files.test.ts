import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../support/cli/built-cli.js'
import { secrets, temporaryDir } from '../support/cli/cli.js'

const scenario = 'steps:\n  - create_application: { name: Shop }\n'

test.each([
  ['scenario run file.yaml', scenario],
  ['server start --memory --port 0 --seed file.yaml', 'account: acme\n'],
  ['templates apply -f file.yaml --base-url http://127.0.0.1:1', '{}\n'],
  ['templates diff -f file.yaml --base-url http://127.0.0.1:1', '{}\n'],
])('%s refuses a second document with its line and exits 2', async (command, first) => {
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
