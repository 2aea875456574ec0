import process from 'node:process'

/** Set by the vitest.config.ts project of the test. */
export const onPostgres = process.env.VOUCHERCTL_TEST_ENGINE === 'postgres'

/** Store name that a server under test reports without a data folder. */
export const storeName = onPostgres ? 'postgres' : 'memory'
