import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

/** A server that ends with an error object, after another start has renamed its log. */
const ENDING_SERVER = `
const { renameSync, writeFileSync } = require('node:fs')
const log = process.env.VOUCHERCTL_DETACHED_LOG
renameSync(log, log + '.1')
writeFileSync(log, '')
console.error(JSON.stringify({ error: { code: 'DATA_FOLDER_IN_USE', message: 'Another server was first.' } }))
process.exit(1)
`

test('a detached server that ends early shows its error after another start renamed its log', async () => {
  const dir = temporaryDir()
  const program = join(dir, 'server.cjs')
  writeFileSync(program, ENDING_SERVER)
  const { exit, stderr } = await cli(`server start --detach --json --data ${dir}`, {
    self: [process.execPath, program],
  })
  expect([exit, JSON.parse(stderr).error]).toMatchObject([
    1,
    { code: 'DATA_FOLDER_IN_USE', message: 'Another server was first.' },
  ])
})
