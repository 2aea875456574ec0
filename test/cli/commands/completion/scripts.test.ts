import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scriptFiles, scriptFor } from '../../../../src/cli/commands/completion/scripts.js'
import { shellNames } from '../../../../src/cli/commands/completion/shells.js'
import { entries } from '../../../../src/cli/program.js'

// After a change of the command tree, -u writes the scripts.
test.each(shellNames)('the %s script in completions/ matches the command tree', async (shell) => {
  const file = join(import.meta.dirname, '../../../../completions', scriptFiles[shell])
  await expect(await scriptFor(shell, entries)).toMatchFileSnapshot(file)
})
