import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { RequestLogEntry } from '../../contract/platform/activity.js'

/** A completed request; its labels come from the contract, never from a client. */
export type Observation = Pick<RequestLogEntry, 'endpoint' | 'method' | 'status' | 'code' | 'duration_ms'>

/** Metrics of the process by store: prom-client never ends their timer and observer, so servers of a process share them. */
const processMetrics = new Map<string, Registry>()

function processMetricsOf(store: string): Registry {
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
export function recordTo(store: string): { observe(it: Observation): void; text(): Promise<string> } {
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
    observe({ endpoint: id, method, status, code, duration_ms }) {
      const endpoint = id ?? 'none'
      requests.inc({ endpoint, method, status, code: code ?? '' })
      duration.observe({ endpoint }, duration_ms / 1000)
    },
    text: async () => `${await processMetricsOf(store).metrics()}${await registry.metrics()}`,
  }
}
