import { execFileSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { holdLock } from '../../../src/cli/host/lock.js'
import { temporaryDir } from '../../support/cli/cli.js'

test('holdLock does not wait for the writer of a named pipe in the place of a lock', ({ skip }) => {
  if (process.platform === 'win32') skip('Windows has no named pipes in folders')
  const path = join(temporaryDir(), 'lock')
  execFileSync('mkfifo', [path])
  expect(holdLock(path)).toBeUndefined()
  expect(lstatSync(path).isFIFO()).toBe(true)
})
