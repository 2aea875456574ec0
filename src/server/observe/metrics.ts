import type { Registry } from 'prom-client'
import type { RequestLogEntry } from '../../contract/platform/activity.js'

/** A completed request; its labels come from the contract, never from a client. */
type Observation = Pick<RequestLogEntry, 'endpoint' | 'method' | 'status' | 'code' | 'duration_ms'>

export interface Metrics {
  readonly contentType: string
  observe(it: Observation): void
  /** Returns the metrics as text, rendered at most once a second. Concurrent callers share the result. */
  text(): Promise<Buffer>
}

/** Batch size: recording observations in batches takes half the time. */
const BATCH_MAX = 256

type Library = typeof import('prom-client')
type Recorder = ReturnType<typeof recordTo>

/** Maximum age of rendered metrics, because rendering blocks the server for several milliseconds. */
const RENDERED_MS = 1_000

/** Prometheus metrics of one server. Loads the library with the first request, because loading takes 12 ms. */
export function createMetrics(store: string, now: () => number = () => performance.now()): Metrics {
  let recorder: Recorder | undefined
  let loading: Promise<Recorder> | undefined
  let waiting: Observation[] = []
  let rendering: Promise<Buffer> | undefined
  let renderedAt = 0

  const load = async (): Promise<Recorder> => {
    recorder = recordTo(store, await import('prom-client'))
    return recorder
  }
  const record = ({ observe }: Recorder): void => {
    const batch = waiting
    waiting = []
    for (const it of batch) observe(it)
  }
  const render = async (): Promise<Buffer> => {
    const loaded = await (loading ??= load())
    record(loaded)
    return Buffer.from(await loaded.text())
  }
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    observe(observation) {
      waiting.push(observation)
      if (recorder === undefined) loading ??= load()
      else if (waiting.length >= BATCH_MAX) record(recorder)
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

function processMetricsOf(store: string, { Registry, collectDefaultMetrics }: Library): Registry {
  const made = processMetrics.get(store)
  if (made !== undefined) return made
  const registry = new Registry()
  registry.setDefaultLabels({ store })
  collectDefaultMetrics({ register: registry })
  // Remove gauges with the suffix `_total`, reserved for counters; nodejs_active_handles etc. have the same values.
  for (const name of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${name}_total`)
  processMetrics.set(store, registry)
  return registry
}

/** Creates the metrics of requests and of the process. */
function recordTo(store: string, library: Library) {
  const { Counter, Histogram, Registry } = library
  const registry = new Registry()
  registry.setDefaultLabels({ store })
  const requests = new Counter({
    name: 'voucherctl_http_requests_total',
    help: 'Requests with a response, by contract endpoint, status and failure code.',
    labelNames: ['endpoint', 'method', 'status', 'code'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'voucherctl_http_request_duration_seconds',
    help: 'Time from the request to the end of its response.',
    labelNames: ['endpoint'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return {
    observe({ endpoint: id, method, status, code, duration_ms }: Observation) {
      const endpoint = id ?? 'none'
      requests.inc({ endpoint, method, status, code: code ?? '' })
      duration.observe({ endpoint }, duration_ms / 1000)
    },
    text: async () => `${await processMetricsOf(store, library).metrics()}${await registry.metrics()}`,
  }
}
