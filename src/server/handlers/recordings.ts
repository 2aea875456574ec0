import { pieces } from '../../inspector/line-stream.js'
import type { ReadRecord } from '../../recorder/existing.js'
import type { Deps } from '../deps.js'
import type { Handlers } from '../handler.js'

type Recording = Pick<Handlers['platform'], 'recordScenario'>
type Others = Omit<Handlers['platform'], keyof Recording>

/** Turns activity into a scenario (RULES.md#scenarios). @param others handlers that read the records from before it */
export function recordingHandlers({ activity, requestLog, clock, gate }: Deps, others: Others): Recording {
  type Handle = (input: object) => Promise<{ readonly ok: boolean; readonly data?: unknown }>
  const read: ReadRecord = ({ id }, input) =>
    gate.run(() => (others[id.split('.')[1] as keyof Others] as Handle)(input)).then(({ data }) => data)
  let last: Promise<unknown> = Promise.resolve()
  return {
    recordScenario: {
      // A recording takes seconds: a reset, and the calls behind the reset, must not wait for it.
      bypassesGate: true,
      handle: async ({ ids }, { gone }) => {
        // Loaded on demand: few servers record.
        const { recordedScenario } = await import('../../recorder/recorded-scenario.js')
        const chosen = ids && { ids: new Set(ids) }
        // One at a time: each takes up to 16 MiB of exchanges, and a share of the processor.
        const made = last.then(() => {
          const startedAt = requestLog.since(clock.now())
          const lines = activity.lines(chosen?.ids)
          return recordedScenario({ lines, startedAt, read, inPieces: pieces(gone()), ...chosen })
        })
        last = made.catch(() => {})
        return { ok: true, data: await made }
      },
    },
  }
}
