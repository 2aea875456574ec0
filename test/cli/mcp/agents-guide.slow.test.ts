import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { built } from '../../support/cli/built-cli.js'
import { temporaryDir } from '../../support/cli/cli.js'

// Written so, because the repository has no such document.
const md = '.md'
const root = join(import.meta.dirname, '..', '..', '..')
const guide = readFileSync(join(root, 'src/guides/agents.md'), 'utf8')

test('every command of the guide for agents runs, in one shell', async () => {
  const home = temporaryDir()
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'voucherctl'), `#!/bin/sh\nexec '${process.execPath}' '${built.bin}' "$@"\n`, { mode: 0o755 })
  const blocks = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block)
  // The default port may be in use on this machine.
  const script = blocks.join('').replace('server start', 'server start --port 0')
  const env = { ...built.environment(home), PATH: `${bin}:${process.env.PATH}` }
  try {
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { cwd: home, env })
    for (const it of ['server_state', '"redeemable": true', 'Saved before', 'Redeemed', 'delivered', 'has stopped'])
      expect(stdout).toContain(it)
  } finally {
    await built.run(['server', 'stop'], home)
  }
})

test('the package has the guide for agents as a skill with name and description, and as llms.txt', () => {
  const [, head = '', skill] =
    /^---\n(.*?)^---\n\n(.*)$/ms.exec(readFileSync(join(root, `dist/SKILL${md}`), 'utf8')) ?? []
  const { name, description } = parse(head) as { name: string; description: string }
  expect([name, description.length > 40 && description.length < 1_024]).toEqual(['voucherctl', true])
  expect(skill).toBe(guide)
  const llms = readFileSync(join(root, 'dist/llms.txt'), 'utf8')
  expect(llms).toMatch(/^# voucherctl\n\n> \S/)
  expect(llms).toContain(guide.slice(guide.indexOf('\n')).trim())
})
