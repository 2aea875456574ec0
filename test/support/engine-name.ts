import process from 'node:process'

/** Set by the project of vitest.config.ts that a test runs in. */
export const onPostgres = process.env.VOUCHERCTL_TEST_ENGINE === 'postgres'

/** What a server under test calls its store, when it keeps nothing after the end. */
export const storeName = onPostgres ? 'postgres' : 'memory'
