import { spawnSync } from 'node:child_process'
import { test } from 'vitest'
import { testDocuments } from './documents.js'

const missing = ['python3', 'curl'].find((it) => spawnSync(it, ['--version']).status !== 0)

// Its programs are in Python and shell too.
if (missing !== undefined) test.skip(`the code blocks of the guide to prove: skipped, no ${missing}`)
else {
  testDocuments({
    'src/guides/proving.md': [
      /^✗ goods_given_away: .* and your program took the time-out for success\.\nOne finding: /m,
      /^exit code 1$/m,
      /^✗ voucher_lost: Your program never said done/m,
      /^✗ goods_given_away: .* was refused with 404 VOUCHER_NOT_FOUND\.$/m,
      /(?:^✓ Nothing found: the variant held\.$[^]*){3}/m,
      /^(?:# pass|ℹ pass) 1$/m,
      /^✓ Nothing found: (\d\d) of \1 variants held\.$/m,
    ],
  })
}
