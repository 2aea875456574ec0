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
  campaign: Pick<Campaign, 'row' | 'name' | 'tags' | 'requirement'>,
  tests: readonly string[],
  env: Readonly<Record<string, string>>,
  projects: readonly string[] = ['quick', 'slow'],
): Campaign {
  return {
    ...campaign,
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
    {
      row: 'R7',
      name: 'requests made from the schemas, anything at all in place of bodies, and how long one holds the loop',
      tags: ['envelope/3', 'text/1', 'unknown-members/1'],
      requirement: 'Requests are made from the schemas. None gets a 5xx or takes 100 ms of CPU time.',
    },
    ['test/server/http/requests.slow.test.ts', 'test/server/http/stall.test.ts'],
    { VOUCHERCTL_REQUESTS: '300' },
  ),
  longer(
    {
      row: 'R10',
      name: 'sequences of commands against a model',
      tags: ['idempotency-keys/4', 'idempotency-keys/5', 'issue/1', 'issue/2', 'redemptions/1', 'reversal/1'],
      requirement: 'Random sequences of calls get the responses of a model.',
    },
    ['test/server/model.test.ts'],
    { VOUCHERCTL_MODEL: '5000x50' },
  ),
  longer(
    {
      row: 'R10',
      name: 'concurrent histories, checked for linearizability',
      tags: ['idempotency-keys/1', 'issue/1', 'redemptions/1', 'reversal/1'],
      requirement: 'Responses to 4 concurrent clients are linearizable.',
    },
    ['test/server/linearizable.test.ts'],
    { VOUCHERCTL_HISTORIES: '2000' },
  ),
  longer(
    {
      row: 'R16',
      name: 'the same calls on SQLite and PostgreSQL',
      tags: ['idempotency-keys/5', 'lists/3'],
      requirement: 'The same calls on SQLite and PostgreSQL get equal responses and exports.',
    },
    ['test/store/postgres/two-engines/two-engines.slow.test.ts'],
    { VOUCHERCTL_ENGINES: '1000x200' },
    ['postgres-rest'],
  ),
]
