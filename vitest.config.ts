import { availableParallelism } from 'node:os'
import process from 'node:process'
import { defineConfig } from 'vitest/config'

const processors = availableParallelism()

/** Files of SQLite, and what is proved of them. */
const onlySqlite = ['test/store/sqlite-*.test.ts', 'test/server/{crash,delivery-crash,lifecycle,unwritable}.test.ts']

/** Nothing of these reaches the store, or nothing but a token. */
const withoutStore = [
  'test/store/{sessions,move/read}.test.ts',
  'test/server/{connections,faults,fuzz,jwks,limits,pipelining,raw,stall,stderr-log,stop}.test.ts',
  'test/server/secure-{broken-off,fuzz,keys,required,vectors}.test.ts',
]

/** Beside everything on SQLite: what depends on the store, once more on PostgreSQL. */
export default defineConfig({
  test: {
    // Where nobody watches, what failed and nothing else.
    reporters: process.env.CI === undefined ? ['default'] : ['minimal'],
    // Vitest leaves one processor free. Many files wait more than they work: two processors take two at a time.
    maxWorkers: Math.max(Math.min(processors, 2), processors - 1),
    projects: [
      {
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**', 'test/postgres/**'],
          // Most end in milliseconds, on a machine that does other things as well in seconds.
          testTimeout: 15_000,
          hookTimeout: 30_000,
          globalSetup: 'test/support/build-setup.ts',
        },
      },
      {
        test: {
          name: 'postgres',
          include: ['test/store/**/*.test.ts', 'test/server/**/*.test.ts', 'test/postgres/**/*.test.ts'],
          exclude: [...onlySqlite, ...withoutStore],
          env: { VOUCHERCTL_TEST_ENGINE: 'postgres' },
          // Each call is several round trips, on machines that do other things as well.
          testTimeout: 15_000,
          hookTimeout: 30_000,
          globalSetup: ['test/support/build-setup.ts', 'test/support/postgres-setup.ts'],
        },
      },
    ],
  },
})
