import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import type { Campaign, Run } from '../campaign.js'

interface Report {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { status: string; fullName: string; failureMessages: readonly string[] }[]
  }[]
}

const SHOWN_LINES = 12

/**
 * A campaign that runs tests in a longer form, which environment variables set. Such a test fails if it misses a state.
 * @param projects of vitest.config.ts
 */
function longer(
  row: string,
  name: string,
  tests: readonly string[],
  env: Readonly<Record<string, string>>,
  projects: readonly string[] = ['quick', 'slow'],
): Campaign {
  return {
    row,
    name,
    async run({ quick, random, folder, root }: Run) {
      if (quick) return { skipped: 'its short form is a part of npm run test:all' }
      const seed = String(1 + random.below(2 ** 31 - 1))
      const file = join(folder, 'report.json')
      const vitest = join(createRequire(join(root, 'package.json')).resolve('vitest/package.json'), '../vitest.mjs')
      const args = [
        'run',
        ...projects.flatMap((it) => ['--project', it]),
        '--reporter',
        'json',
        '--outputFile',
        file,
        ...tests,
      ]
      const child = spawn(process.execPath, [vitest, ...args], {
        cwd: root,
        env: { ...process.env, ...env, VOUCHERCTL_SEED: seed },
        stdio: 'ignore',
      })
      await new Promise((resolve) => child.once('exit', resolve))
      const { numPassedTests, testResults } = JSON.parse(readFileSync(file, 'utf8')) as Report
      const failed = testResults.flatMap(({ assertionResults }) =>
        assertionResults.filter(({ status }) => status === 'failed'),
      )
      const broken = failed.map(({ fullName, failureMessages }) => {
        const said = failureMessages.join('\n').split('\n').slice(0, SHOWN_LINES)
        return `${fullName} (VOUCHERCTL_SEED=${seed}): ${said.join('\n        ')}`
      })
      if (numPassedTests + failed.length === 0)
        broken.push(`no test ran: ${testResults.map((it) => it.message).join()}`)
      return { facts: { passed: numPassedTests, seed, ...env }, broken }
    },
  }
}

export const properties: readonly Campaign[] = [
  longer(
    'R7',
    'requests made from the schemas, anything at all in place of bodies, and how long one holds the loop',
    ['test/server/http/requests.slow.test.ts', 'test/server/http/stall.test.ts'],
    { VOUCHERCTL_REQUESTS: '300' },
  ),
  longer('R10', 'sequences of commands against a model', ['test/server/model.test.ts'], {
    VOUCHERCTL_MODEL: '5000x50',
  }),
  longer('R10', 'concurrent histories, checked for linearizability', ['test/server/linearizable.test.ts'], {
    VOUCHERCTL_HISTORIES: '2000',
  }),
  longer(
    'R16',
    'the same calls on SQLite and PostgreSQL',
    ['test/store/postgres/two-engines/two-engines.slow.test.ts'],
    { VOUCHERCTL_ENGINES: '1000x200' },
    ['postgres-rest'],
  ),
]
