/**
 * The code that decides about money and trust, in portions with the tests that must notice a mutant of it. `sources` are
 * files, or folders without their subfolders. The tests run on SQLite, or on PostgreSQL if `onPostgres` is true.
 */
export const portions = [
  {
    name: 'domain',
    sources: ['src/domain', 'src/domain/bot', 'src/contract/credential-symbols.ts'],
    tests: ['test/domain/**/*.test.ts', 'test/contract/credential-symbols.test.ts'],
  },
  { name: 'webhook', sources: ['src/webhook/signature.ts'], tests: ['test/webhook/*.test.ts'] },
  {
    name: 'guard',
    sources: ['src/server/delivery/guard.ts'],
    tests: ['test/server/delivery/guard*.test.ts'],
  },
  {
    name: 'retry',
    sources: ['src/client/retry.ts'],
    tests: ['test/client/{call,client,response,retry}.test.ts'],
  },
  {
    name: 'secure',
    sources: ['src/secure', 'src/secure/client', 'src/secure/server', 'src/values'],
    tests: ['test/secure/**/*.test.ts', 'test/values/*.test.ts'],
  },
  {
    name: 'store',
    sources: ['src/store/vouchers.ts', 'src/store/idempotency.ts'],
    tests: [
      'test/store/*.test.ts',
      'test/server/idempotency.test.ts',
      'test/server/handlers/{apps,forecast,templates,totals,voucher-history,vouchers}.test.ts',
      'test/server/background/*.test.ts',
      'test/server/bots/{issue,links}.test.ts',
    ],
  },
  {
    name: 'applications',
    sources: ['src/store/apps.ts', 'src/store/tokens.ts'],
    tests: ['test/store/{apps,tokens}.test.ts'],
  },
  {
    name: 'templates',
    sources: ['src/store/templates.ts', 'src/store/template-summary.ts', 'src/store/list-page.ts'],
    tests: ['test/store/{list-page,template-summary,templates}.test.ts'],
  },
  {
    name: 'bots',
    // open-polls.ts is in portion shared.
    sources: ['bots', 'calls', 'chats', 'issue', 'templates'].map((it) => `src/store/bots/${it}.ts`),
    tests: [
      'test/store/bots/*.test.ts',
      'test/server/bots/{chats,issue,templates}.test.ts',
      'test/server/background/bot-metrics.test.ts',
    ],
  },
  {
    name: 'updates',
    sources: ['src/store/delivery/updates.ts', 'src/store/outbox.ts'],
    tests: [
      'test/store/outbox.test.ts',
      'test/store/delivery/updates.test.ts',
      'test/server/bots/{chats,poll-connections,polling}.test.ts',
    ],
  },
  {
    name: 'deliveries',
    sources: ['backlog', 'deliveries', 'webhooks'].map((it) => `src/store/delivery/${it}.ts`),
    tests: ['test/store/delivery/*.test.ts'],
  },
  {
    name: 'keys',
    sources: ['keys', 'seed', 'snapshots'].map((it) => `src/store/${it}.ts`),
    tests: ['test/store/{keys,seed,snapshots}.test.ts', 'test/store/sqlite/file-snapshots.test.ts'],
  },
  {
    name: 'sessions',
    sources: ['src/store/sessions.ts'],
    tests: ['test/store/sessions.test.ts'],
  },
  {
    name: 'histories',
    sources: ['src/store/voucher-history.ts'],
    tests: ['test/store/voucher-history.test.ts', 'test/server/handlers/voucher-history.test.ts'],
  },
  {
    name: 'counts',
    sources: ['src/store/forecast.ts', 'src/store/totals.ts'],
    tests: ['test/store/totals.test.ts', 'test/server/handlers/{forecast,totals}.test.ts'],
  },
  {
    name: 'shared',
    sources: ['bots/open-polls', 'secure-keys', 'shared-sessions'].map((it) => `src/store/${it}.ts`),
    tests: [
      'test/store/bots/open-polls.test.ts',
      'test/store/postgres/sessions.test.ts',
      'test/store/secure-keys.test.ts',
    ],
    onPostgres: true,
  },
  {
    name: 'worker',
    sources: ['worker-pass', 'attempt-results', 'claims'].map((it) => `src/store/delivery/${it}.ts`),
    tests: ['test/store/delivery/worker-pass*.test.ts'],
  },
]
