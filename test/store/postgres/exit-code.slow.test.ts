import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { bundleProgram } from '../../support/build/bundle.js'

const program = fileURLToPath(new URL('../../support/cli/exit-code-program.ts', import.meta.url))

// Tests and campaigns start PostgreSQL servers: if that changed the exit code to 0, their failures would go unnoticed.
it('process that started a PostgreSQL server exits with the exit code that it set', async () => {
  const file = await bundleProgram(program, 'exit-code')
  onTestFinished(() => rmSync(file))
  const child = spawn(process.execPath, [file], { stdio: 'ignore' })
  expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(3)
})
