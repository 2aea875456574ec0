import { setTimeout } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import type { RequestLogEntry } from '../../contract/platform/activity.js'
import { vouchers } from '../../contract/vouchers.js'
import { packageVersion } from '../../inspector/assets.js'
import { type DeliveryTotals, deliveryTotals } from '../../store/delivery/totals.js'
import { SCHEMA_VERSION } from '../../store/migrations/index.js'
import type { PoolSize } from '../../store/store.js'
import type { ResultLabel } from '../delivery/worker.js'
import type { Deps } from '../deps.js'

/** A completed request; its labels come from the contract, but the method of an unknown path is one that Node parses. */
type Observation = Pick<RequestLogEntry, 'endpoint' | 'method' | 'status' | 'code' | 'replayed' | 'duration_ms'>

export interface Metrics {
  readonly contentType: string
  observe(it: Observation): void
  attemptEnded(result: ResultLabel): void
  /** Returns the metrics as text, rendered at most once a second. Concurrent callers share the result. */
  text(): Promise<Buffer>
}

/** Batch size: recording observations in batches takes half the time. */
const BATCH_MAX = 256

type Library = typeof import('prom-client')
type Recorder = ReturnType<typeof recordTo>
type Source = Pick<Deps, 'store' | 'clock' | 'secure'>
type Attempts = Record<ResultLabel, number>

/** Buckets of durations. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Maximum age of rendered metrics, because rendering blocks the server for several milliseconds. */
const RENDERED_MS = 1_000

/** Maximum wait for totals of the store, so that a scrape responds in time (10 s in Prometheus) without a database. */
const STORE_MS_MAX = 2_000

/** Prometheus metrics of one server. Loads the library with the first request, because loading takes 12 ms. */
export function createMetrics(source: Source, now: () => number = () => performance.now()): Metrics {
  const { store } = source
  let recorder: Recorder | undefined
  let loading: Promise<Recorder> | undefined
  /** Requests, and durations of commits in seconds. */
  let waiting: (Observation | number)[] = []
  const attempts: Attempts = { delivered: 0, failed: 0, dead_letter: 0 }
  let rendering: Promise<Buffer> | undefined
  let renderedAt = 0

  const load = async (): Promise<Recorder> => {
    recorder = recordTo(source, attempts, await import('prom-client'), await packageVersion().catch(() => 'unknown'))
    return recorder
  }
  const record = ({ observe, committed }: Recorder): void => {
    const batch = waiting
    waiting = []
    for (const it of batch) void (typeof it === 'number' ? committed(it) : observe(it))
  }
  const add = (it: Observation | number): void => {
    waiting.push(it)
    const isFull = waiting.length >= BATCH_MAX
    if (recorder === undefined) {
      if (isFull || typeof it !== 'number') loading ??= load()
    } else if (isFull) record(recorder)
  }
  if (store.metrics !== undefined) store.metrics.onCommit = add

  const render = async (): Promise<Buffer> => {
    const loaded = await (loading ??= load())
    record(loaded)
    const totals = setTimeout(STORE_MS_MAX, null, { ref: false })
    return Buffer.from(await loaded.text(await Promise.race([store.read(deliveryTotals), totals]).catch(() => null)))
  }
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    observe: add,
    attemptEnded(result) {
      attempts[result] += 1
    },
    text() {
      if (rendering === undefined || now() - renderedAt >= RENDERED_MS) {
        renderedAt = now()
        rendering = render()
      }
      return rendering
    },
  }
}

/** Metrics of the process by store: prom-client never ends their timer and observer, so servers of a process share them. */
const processMetrics = new Map<string, Registry>()

/** Gauges with the suffix `_total`, reserved for counters, and families that tell no more than those that stay. */
const UNUSED = /^nodejs_(?:active_\w+_total|heap_space_\w+|eventloop_lag_(?:min|mean|stddev|p50|p90)_seconds)$/

function processMetricsOf(store: string, { Registry, collectDefaultMetrics }: Library): Registry {
  const made = processMetrics.get(store)
  if (made !== undefined) return made
  const registry = new Registry()
  registry.setDefaultLabels({ store })
  collectDefaultMetrics({ register: registry })
  for (const { name } of registry.getMetricsAsArray()) if (UNUSED.test(name)) registry.removeSingleMetric(name)
  processMetrics.set(store, registry)
  return registry
}

/** Help of each family. Says whether a value belongs to this server, or to the store and so to all servers that share it. */
const helps = {
  build_info: 'Version of voucherctl, and of the schema of its database.',
  http_requests_total: 'Requests to this server, by contract endpoint, status and failure code (empty: none).',
  http_request_duration_seconds: 'Time from a request to this server to the end of its response.',
  redemptions_total: 'Redemptions by this server, without replays of an idempotency key.',
  redemption_refusals_total: 'Redeem calls that this server refused, by failure code.',
  delivery_attempts_total: 'Ended delivery attempts of this server; dead_letter: the last one of a delivery failed.',
  commit_duration_seconds: 'Duration of the commits of this server: SQLite with fsync, PostgreSQL with the round trip.',
  store_up: 'Whether this server could read the store; if 0, the deliveries in the store are missing.',
  deliveries: 'Deliveries in the store, the same on all its servers: waiting, to be tried again, or dead letters.',
  delivery_backlog_age_seconds: 'Age of the oldest due delivery in the store, the same on all its servers, or 0.',
  secure_sessions: 'Encrypted sessions of this server; on PostgreSQL those in the store, counted each minute.',
  postgres_connections: 'Open connections of this server to PostgreSQL.',
  postgres_connections_idle: 'Open connections of this server to PostgreSQL that no operation uses.',
  postgres_connections_max: 'Maximum of open connections of this server to PostgreSQL.',
  postgres_waiting: 'Transactions and batches of reads of this server that wait for a connection.',
}

/** Creates all families, with those of the process. */
function recordTo({ store, clock, secure }: Source, attempts: Attempts, library: Library, version: string) {
  const { Counter, Gauge, Histogram, Registry } = library
  const registry = new Registry()
  registry.setDefaultLabels({ store: store.name })
  const family = <Label extends string = never>(name: keyof typeof helps, ...labelNames: Label[]) => ({
    name: `voucherctl_${name}`,
    help: helps[name],
    labelNames,
    registers: [registry],
  })
  const build = new Gauge(family('build_info', 'version', 'schema_version'))
  build.set({ version, schema_version: SCHEMA_VERSION }, 1)
  const requests = new Counter(family('http_requests_total', 'endpoint', 'method', 'status', 'code'))
  const ofRequests = family('http_request_duration_seconds', 'endpoint')
  const duration = new Histogram({ ...ofRequests, buckets: [0.0005, ...SECONDS] })
  const redemptions = new Counter(family('redemptions_total'))
  const refusals = new Counter(family('redemption_refusals_total', 'code'))
  const ended = new Counter(family('delivery_attempts_total', 'result'))
  const commits = new Histogram({ ...family('commit_duration_seconds'), buckets: [0.0001, 0.0005, ...SECONDS] })
  const up = new Gauge(family('store_up'))
  const deliveries = new Gauge(family('deliveries', 'status'))
  const age = new Gauge(family('delivery_backlog_age_seconds'))
  const sessions = new Gauge(family('secure_sessions'))
  const pools = store.metrics?.pools
  const pooled = (['connections', 'connections_idle', 'connections_max', 'waiting'] as const).map((name) => {
    const gauge = pools && new Gauge(family(`postgres_${name}`, 'pool'))
    return (pool: string, size: PoolSize) => gauge?.set({ pool }, size[name])
  })
  return {
    observe({ endpoint: id, method, status, code, replayed, duration_ms }: Observation) {
      const endpoint = id ?? 'none'
      requests.inc({ endpoint, method, status, code: code ?? '' })
      duration.observe({ endpoint }, duration_ms / 1000)
      if (id !== vouchers.redeem.id || replayed) return
      if (code === null) redemptions.inc()
      else refusals.inc({ code })
    },
    committed: (seconds: number) => commits.observe(seconds),
    /** @param totals null if the store cannot be read */
    async text(totals: DeliveryTotals | null): Promise<string> {
      ended.reset()
      for (const [result, count] of Object.entries(attempts)) ended.inc({ result }, count)
      up.set(totals === null ? 0 : 1)
      deliveries.reset()
      age.remove()
      if (totals !== null) {
        const { oldest, ...counts } = totals
        for (const [status, count] of Object.entries(counts)) deliveries.set({ status }, count)
        age.set(Math.max(0, clock.now() - (oldest ?? clock.now())) / 1000)
      }
      sessions.set(secure.sessions.size())
      for (const [pool, size] of Object.entries(pools?.() ?? {})) for (const set of pooled) set(pool, size)
      return `${await processMetricsOf(store.name, library).metrics()}${await registry.metrics()}`
    },
  }
}
