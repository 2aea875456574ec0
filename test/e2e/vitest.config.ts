import { defineConfig } from 'vitest/config'

/** Tests of the installed package; .ci/run sets its folder and the Node version in VOUCHERCTL_E2E_*. */
export default defineConfig({
  test: { include: ['test/e2e/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
})
