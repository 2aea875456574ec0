import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { built } from '../../support/cli/built-cli.js'
import { temporaryDir } from '../../support/cli/cli.js'
import { profileFile, storedProfiles } from '../../support/cli/profiles.js'

const set = (name: string) => ['profiles', 'set', name, '--base-url', `https://${name}.example`]

test('the profile file keeps every successful change if commands are killed at any moment', async () => {
  const home = temporaryDir()
  const acknowledged: string[] = []
  for (let run = 0; run < 12; run += 1) {
    const name = `p${run}`
    const child = built.start(set(name), home)
    // The delays cover a kill during start-up, during the write and after it.
    const timer = setTimeout(() => child.kill('SIGKILL'), 20 + run * 16)
    const exit = await new Promise((resolve) => child.once('exit', resolve))
    clearTimeout(timer)
    if (exit === 0) acknowledged.push(name)
  }
  expect((await built.run(set('last'), home)).exit).toBe(0)
  expect(Object.keys(storedProfiles(home))).toEqual(expect.arrayContaining([...acknowledged, 'last']))
  expect(readdirSync(dirname(profileFile(home)))).toEqual(['config.json'])
})
