import process from 'node:process'
import { defineConfig } from 'vitest/config'
import { readRules } from '../evidence/rules.js'

/** Tests that do not depend on the version of Node, and the guides, which take a minute: they run on the oldest only. */
const onOldestNode = ['test/e2e/{ci,guides-part-*,packaging,types,webhook-servers}.test.ts']

/** Tests of the installed package; .ci/run sets its folder and the Node version in VOUCHERCTL_E2E_*. */
export default defineConfig({
  test: {
    tags: readRules().map(({ id }) => ({ name: id })),
    include: ['test/e2e/**/*.test.ts'],
    exclude: process.env.VOUCHERCTL_E2E_MAJOR === '20' ? [] : onOldestNode,
    // Two, also on a machine with two processors: the longest files wait for processes most of the time.
    maxWorkers: 2,
    // A document runs up to 40 commands, each of which a busy machine starts in seconds.
    testTimeout: 240_000,
    hookTimeout: 120_000,
  },
})
