import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { bundleProgram } from '../../support/bundle.js'

const program = fileURLToPath(new URL('../../support/exit-code-program.ts', import.meta.url))

// Otherwise tests and campaigns on PostgreSQL would exit with 0 even if they failed.
it('process that used its own PostgreSQL server exits with the code that it set', async () => {
  const file = await bundleProgram(program, 'exit-code')
  onTestFinished(() => rmSync(file))
  const child = spawn(process.execPath, [file], { stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(3)
})
