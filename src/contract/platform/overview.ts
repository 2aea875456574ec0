import { get, group } from '../endpoint.js'
import { ids, instant, nullable } from '../fields.js'
import { type Static, Type } from '../schema.js'

const failureCount = (code: string, status: number) =>
  Type.Object({
    code: nullable(Type.String(), code),
    status: nullable(Type.Integer(), status),
    count: Type.Integer({ example: 2 }),
  })
export type FailureCount = Static<ReturnType<typeof failureCount>>

/** What is unusual at a server (rules/operator.md#activity). */
export const overview = Type.Object({
  failed_calls: Type.Object({
    since: instant,
    items: Type.Array(failureCount('VOUCHER_EXPIRED', 409)),
  }),
  failed_attempts: Type.Object({
    since: instant,
    items: Type.Array(failureCount('http_status', 503)),
    complete: Type.Boolean({
      description: 'false if there are too many attempts to read, so that the counts are too low',
      example: true,
    }),
  }),
  failing_deliveries: Type.Integer({ description: 'deliveries that wait after a failed attempt', example: 1 }),
  dead_letters: Type.Integer({ example: 1 }),
  faults: Type.Integer({ description: 'faults that are set', example: 1 }),
  clock_ahead_ms: Type.Integer({ description: 'distance of the test clock from the true time', example: 0 }),
  reviews: Type.Integer({ description: 'templates and bots that wait for review', example: 1 }),
  borrowed_webhooks: Type.Array(
    Type.Object({ bot_id: ids.botId, holder: Type.String({ description: 'who listens', example: 'process 1' }) }),
  ),
})
export type Overview = Static<typeof overview>

export const platformOverview = group('platform', {
  overview: get('/_platform/v1/overview', {
    summary: 'Count what failed in the last hour, and what else is unusual',
    unlisted: true,
    output: overview,
  }),
})
