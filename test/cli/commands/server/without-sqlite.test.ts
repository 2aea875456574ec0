import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { pageOf, template } from '../../../support/cli/samples.js'

/** Hides both SQLite libraries, as on Node 20 without the optional dependency. */
const hidden = `
  const { getBuiltinModule } = process
  if (getBuiltinModule) process.getBuiltinModule = (id) => id === 'node:sqlite' ? undefined : getBuiltinModule(id)
  const Module = require('node:module')
  const load = Module._load
  Module._load = function (id, ...rest) {
    if (id === '@photostructure/sqlite') throw Object.assign(new Error('not found'), { code: 'MODULE_NOT_FOUND' })
    return load.call(this, id, ...rest)
  }
`

function place() {
  const home = temporaryDir()
  const hook = join(home, 'hook.cjs')
  writeFileSync(hook, hidden)
  return { home, env: { ...secrets, NODE_OPTIONS: `--require ${hook}` } }
}

test.each(['server start --memory --port 0', 'quickstart'])(
  'the command %s without SQLite exits 1 and says how to install it',
  async (line) => {
    const { home, env } = place()
    const { exit, stdout, stderr } = await built.run([...line.split(' '), '--json'], home, env)
    expect([exit, stdout]).toEqual([1, ''])
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'SQLITE_MISSING',
      message: expect.stringMatching(/Use Node 22\.13 or later, or reinstall voucherctl without --omit=optional/),
    })
  },
)

test('templates list and webhook sign work without SQLite', async () => {
  const { home, env } = place()
  const { baseUrl } = await stub(() => success(pageOf(template)))
  const listed = await built.run(['templates', 'list', '--json', '--base-url', baseUrl], home, env)
  expect([listed.exit, JSON.parse(listed.stdout).items.length, listed.stderr]).toEqual([0, 1, ''])
  writeFileSync(join(home, 'body.json'), '{"update_id":7,"type":"ping","ping":{}}')
  const signed = await built.run(['webhook', 'sign', '--body-file', 'body.json'], home, {
    ...env,
    VOUCHERCTL_WEBHOOK_SECRET: 'a secret',
  })
  expect([signed.exit, signed.stderr]).toEqual([0, ''])
})
