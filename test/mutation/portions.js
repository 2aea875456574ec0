/**
 * The code that decides about money and trust, in portions with the tests that must notice a mutant of it. `sources` are
 * files, or folders without their subfolders. `tags` are rules that the code decides; evidence/proofs.js reads `name` and
 * `tags` as literals. The tests run on SQLite, or on PostgreSQL if `onPostgres` is true.
 */
export const portions = [
  {
    name: 'domain',
    // biome-ignore format: a line for each tag would be long.
    tags: [
      'bot-states/2', 'credentials/2', 'credentials/3', 'idempotency-keys/3', 'ids/1', 'redemptions/1', 'reversal/1',
      'stored-secrets/2', 'template-states/1', 'token-form/1', 'update-types/1', 'validity/2', 'validity/1',
      'validity/3', 'vouchers/1'
    ],
    sources: ['src/domain', 'src/domain/bot', 'src/contract/credential-symbols.ts'],
    tests: ['test/domain/**/*.test.ts', 'test/contract/credential-symbols.test.ts'],
  },
  {
    name: 'webhook',
    tags: ['signatures/1', 'signatures/2', 'signatures/3'],
    sources: ['src/webhook/signature.ts'],
    tests: ['test/webhook/*.test.ts'],
  },
  {
    name: 'guard',
    tags: ['webhook-settings/4', 'webhook-urls/2', 'webhook-urls/3', 'webhook-urls/4'],
    sources: ['src/server/delivery/guard.ts'],
    tests: ['test/server/delivery/guard*.test.ts'],
  },
  {
    name: 'retry',
    tags: ['idempotency-keys/1'],
    sources: ['src/client/retry.ts'],
    tests: ['test/client/{call,client,response,retry}.test.ts'],
  },
  {
    name: 'secure',
    // biome-ignore format: a line for each tag would be long.
    tags: [
      'bootstrap-and-session/1', 'bootstrap-and-session/3', 'bootstrap-and-session/4', 'client-modes/1',
      'client-modes/4', 'dispatch-order/3', 'encrypted-transport/1', 'envelopes/1', 'envelopes/2', 'inner-requests/1',
      'inner-requests/2', 'inner-requests/3', 'inner-responses/1', 'key-pins/1', 'public-keys/1', 'session-origins/2'
    ],
    sources: ['src/secure', 'src/secure/client', 'src/secure/server', 'src/values'],
    tests: ['test/secure/**/*.test.ts', 'test/values/*.test.ts'],
  },
  {
    name: 'store',
    tags: ['idempotency-keys/4', 'idempotency-keys/5', 'issue/1', 'issue/2', 'redemptions/1', 'reversal/1'],
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
    tags: ['application-tokens/2', 'application-tokens/3', 'applications/2', 'applications/1', 'applications/4'],
    sources: ['src/store/apps.ts', 'src/store/tokens.ts'],
    tests: ['test/store/{apps,tokens}.test.ts'],
  },
  {
    name: 'templates',
    tags: ['lists/3', 'template-states/1', 'templates/3'],
    sources: ['src/store/templates.ts', 'src/store/template-summary.ts', 'src/store/list-page.ts'],
    tests: ['test/store/{list-page,template-summary,templates}.test.ts'],
  },
  {
    name: 'bots',
    tags: ['bot-issue/2', 'bot-records/4', 'bot-records/5', 'bot-side-templates/2', 'chats/1', 'chats/2', 'messages/1'],
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
    tags: ['polling/2', 'update-types/1', 'updates/1', 'updates/2'],
    sources: ['src/store/delivery/updates.ts', 'src/store/outbox.ts'],
    tests: [
      'test/store/outbox.test.ts',
      'test/store/delivery/updates.test.ts',
      'test/server/bots/{chats,poll-connections,polling}.test.ts',
    ],
  },
  {
    name: 'deliveries',
    // biome-ignore format: a line for each tag would be long.
    tags: [
      'deliveries/2', 'manual-retries/1', 'manual-retries/2', 'webhook-removal/2', 'webhook-removal/3',
      'webhook-settings/3', 'webhook-settings/5'
    ],
    sources: ['backlog', 'deliveries', 'webhooks'].map((it) => `src/store/delivery/${it}.ts`),
    tests: ['test/store/delivery/*.test.ts'],
  },
  {
    name: 'keys',
    tags: ['credential-keys-of-a-fleet/1', 'seeds/3', 'snapshots/3'],
    sources: ['keys', 'seed', 'snapshots'].map((it) => `src/store/${it}.ts`),
    tests: ['test/store/{keys,seed,snapshots}.test.ts', 'test/store/sqlite/file-snapshots.test.ts'],
  },
  {
    name: 'sessions',
    tags: ['envelopes/1', 'replay-marks/1', 'session-limits/1'],
    sources: ['src/store/sessions.ts'],
    tests: ['test/store/sessions.test.ts'],
  },
  {
    name: 'histories',
    tags: ['voucher-history/2'],
    sources: ['src/store/voucher-history.ts'],
    tests: ['test/store/voucher-history.test.ts', 'test/server/handlers/voucher-history.test.ts'],
  },
  {
    name: 'counts',
    tags: ['lists/5'],
    sources: ['src/store/forecast.ts', 'src/store/totals.ts'],
    tests: ['test/store/totals.test.ts', 'test/server/handlers/{forecast,totals}.test.ts'],
  },
  {
    name: 'shared',
    tags: ['polling/3', 'replay-marks/1', 'session-limits/1'],
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
    tags: ['delivery-order/1', 'delivery-slots/1', 'retry-schedule/1', 'updates/2'],
    sources: ['worker-pass', 'attempt-results', 'claims'].map((it) => `src/store/delivery/${it}.ts`),
    tests: ['test/store/delivery/worker-pass*.test.ts'],
  },
]
