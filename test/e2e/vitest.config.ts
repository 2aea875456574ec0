import { defineConfig } from 'vitest/config'

/** Tests of the packed package, installed elsewhere: .ci/run says where and for which Node. */
export default defineConfig({
  test: { include: ['test/e2e/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
})
