/**
 * The code that decides about money and trust, in portions with the tests that must notice a mutant of it. `sources` are
 * files, or folders without their subfolders.
 */
export const portions = [
  {
    name: 'domain',
    sources: ['src/domain', 'src/domain/bot'],
    tests: ['test/domain/**/*.test.ts'],
  },
  { name: 'webhook', sources: ['src/webhook/signature.ts'], tests: ['test/webhook/*.test.ts'] },
  {
    name: 'guard',
    sources: ['src/server/delivery/guard.ts'],
    tests: ['test/server/delivery/guard*.test.ts'],
  },
  {
    name: 'retry',
    sources: ['src/client/retry.ts', 'src/client/retry-after.ts'],
    tests: ['test/client/{call,client,response,retry}.test.ts'],
  },
  {
    name: 'secure',
    sources: ['src/secure', 'src/secure/client', 'src/secure/server'],
    tests: ['test/secure/**/*.test.ts', 'test/server/transport/vectors.test.ts'],
  },
  {
    name: 'store',
    sources: ['src/store'],
    tests: [
      'test/store/*.test.ts',
      'test/server/{apps,forecast,idempotency,templates,totals,voucher-history,vouchers}.test.ts',
      'test/server/background/*.test.ts',
    ],
  },
  {
    name: 'bots',
    sources: ['src/store/bots'],
    tests: [
      'test/store/bots.test.ts',
      'test/server/background/bot-metrics.test.ts',
      'test/server/bots/{bots,chats,issue,links,polling,profile,templates}.test.ts',
    ],
  },
  {
    name: 'delivery',
    sources: ['src/store/delivery'],
    tests: [
      'test/store/updates.test.ts',
      'test/server/bots/{polling,webhook}.test.ts',
      'test/server/delivery/{backlog,leases,order,schedule,slots,unconfirmed}.test.ts',
    ],
  },
]
