import process from 'node:process'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { planting } from './test/evidence/deviations.js'
import { readRules } from './test/evidence/rules.js'

/** What a SQLite file is, and what is proved on it alone. */
const onlySqlite = [
  'test/store/sqlite/**/*.test.ts',
  'test/server/crash/*.test.ts',
  'test/server/lifecycle.test.ts',
  'test/server/delivery/crash*.test.ts',
]

/** Reach no store, only read credentials from it, or test what other files of both engines also send to it. */
const withoutStore = [
  'test/store/{sessions,move/read}.test.ts',
  'test/server/{faults,jwks,limits,order,stop,wire}*.test.ts',
  'test/server/http/{connections,fuzz,pipelining,raw,stall}*.test.ts',
  'test/server/observe/*.test.ts',
  'test/server/delivery/{bounds,connections,guard*,sender*}.test.ts',
  'test/server/transport/{broken-off,fuzz,inner,keys,required,vectors}*.test.ts',
]

const onPostgres = 'test/store/postgres/**'

/** Depend on the engine: transactions, locks, leases and the order of rows. */
const byEngine = [
  'test/store/**/!(*.slow).test.ts',
  'test/server/{idempotency,linearizable,model,races}.test.ts',
  'test/server/handlers/{call-as-app,find,seed-store,voucher-history}.test.ts',
  'test/server/bots/polling.test.ts',
  'test/server/delivery/{backlog,faults,order,unconfirmed}.test.ts',
]

const onBothEngines = [
  'test/{store,server}/**/*.test.ts',
  'test/conform/probes.test.ts',
  'test/testing/{parity,races.slow}.test.ts',
]
const slow = 'test/**/*.slow.test.ts'
const long = 'test/**/*.long.test.ts'
const isolated = 'test/**/*.isolated.test.ts'

/** Grids and random sequences of which `quick` tries one case of each kind or a part; `slow` tries the rest. */
const sampled = [
  'test/cli/{command-line,every-command}.test.ts',
  'test/cli/bulk/earlier-runs.test.ts',
  'test/workbench/inbox-damage.test.ts',
  'test/server/{failures,linearizable,model,wire}.test.ts',
  'test/server/authorization/authorization.test.ts',
  'test/server/transport/required.test.ts',
  'test/simulation/simulation.test.ts',
  'test/store/delivery/counts.test.ts',
]

/** Tables of servers that deviate from a rule, of which `slow` tries one in four, or a part of the probes. */
const deviants = 'test/conform/{bots,callers,calls,faults}.slow.test.ts'

type Project = TestProjectInlineConfiguration

/** The change of the source that deviations.slow.test.ts plants in this run. */
const deviation = process.env.VOUCHERCTL_DEVIATION

const sqlite = (name: string, include: string[], exclude: string[], more: Project['test'] = {}): Project => ({
  extends: true,
  test: {
    name,
    include,
    exclude: ['test/e2e/**', onPostgres, ...exclude],
    globalSetup: 'test/support/build/setup.ts',
    ...more,
  },
})

const postgres = (name: string, include: string[], exclude: string[]): Project => ({
  extends: true,
  test: {
    name,
    include,
    exclude: [isolated, ...onlySqlite, ...withoutStore, ...exclude],
    env: { VOUCHERCTL_TEST_ENGINE: 'postgres' },
    globalSetup: ['test/support/build/setup.ts', 'test/support/postgres/setup.ts'],
  },
})

/**
 * `npm test` runs quick and isolated, `npm run test:postgres` postgres, `npm run test:all` every project but the long
 * ones, `npm run test:long` those. Files share processes and modules, because importing them took a quarter of the time;
 * isolated files replace a module.
 */
export default defineConfig({
  plugins: deviation === undefined ? [] : [planting(deviation)],
  test: {
    // A test that proves a rule has its id as a tag.
    tags: readRules().map(({ id, sentence }) => ({ name: id, description: sentence })),
    reporters: ['test/support/reporter.ts'],
    silent: 'passed-only',
    // One more than the processors of a small machine: many files wait more than they work.
    maxWorkers: 3,
    // Collecting garbage takes a tenth less time with more room for young objects (MB).
    execArgv: ['--max-semi-space-size=64'],
    isolate: false,
    // Saves a tenth of the time. Modules are cached in node_modules by path and content.
    experimental: { fsModuleCache: true },
    // Most tests take milliseconds. The limits only end what hangs: a busy machine takes ten times as long.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
    projects: [
      sqlite('quick', ['test/**/*.test.ts'], [slow, long, isolated]),
      postgres('postgres', byEngine, [slow, long]),
      sqlite('slow', [slow, ...sampled], [], { env: { VOUCHERCTL_TEST_EXTENT: 'rest' } }),
      sqlite('isolated', [isolated], [], { isolate: true }),
      postgres('postgres-rest', onBothEngines, [...byEngine, long]),
      sqlite('long', [long, deviants], [], { env: { VOUCHERCTL_TEST_EXTENT: 'whole' } }),
      postgres(
        'postgres-long',
        [`${onPostgres}/*.long.test.ts`, 'test/server/delivery/backlog-crash.long.test.ts'],
        [],
      ),
    ],
  },
})
