import { defineConfig } from 'vitest/config'

/** Tests of the installed package; .ci/run sets the folder and the Node version. */
export default defineConfig({
  test: { include: ['test/e2e/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
})
