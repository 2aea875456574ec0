import process from 'node:process'

/** Whether this test run uses PostgreSQL instead of SQLite; vitest.config.ts sets the variable. */
export const onPostgres = process.env.VOUCHERCTL_TEST_ENGINE === 'postgres'

/** Name of the store that a server under test reports if it has no data folder. */
export const storeName = onPostgres ? 'postgres' : 'memory'
