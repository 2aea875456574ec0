import type { Observation } from './prometheus.js'

export interface Metrics {
  readonly contentType: string
  observe(it: Observation): void
  /** Returns the metrics as text, rendered at most once a second. Concurrent callers share the result. */
  text(): Promise<Buffer>
}

/** Batch size: recording observations in batches takes half the time. */
const BATCH_MAX = 256

type Recorder = Awaited<ReturnType<typeof import('./prometheus.js')['recordTo']>>

/** Maximum age of rendered metrics, because rendering blocks the server for several milliseconds. */
const RENDERED_MS = 1_000

/** Prometheus metrics of one server. Loads the library with the first request, because that takes 12 ms. */
export function createMetrics(store: string, now: () => number = () => performance.now()): Metrics {
  let recorder: Recorder | undefined
  let loading: Promise<Recorder> | undefined
  let waiting: Observation[] = []
  let rendering: Promise<Buffer> | undefined
  let renderedAt = 0

  const load = async (): Promise<Recorder> => {
    const { recordTo } = await import('./prometheus.js')
    recorder = recordTo(store)
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
