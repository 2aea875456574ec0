import { pieces } from '../../inspector/line-stream.js'
import type { InPieces } from '../../recorder/events.js'
import type { ReadRecord } from '../../recorder/existing.js'
import type { RecordedScenario } from '../../recorder/recorded-scenario.js'
import type { Deps } from '../deps.js'
import type { Handlers } from '../handler.js'

type Recording = Pick<Handlers['platform'], 'recordScenario'>
type Others = Omit<Handlers['platform'], keyof Recording>

/** Turns activity into a scenario (rules/cli.md#scenarios). @param others handlers that read earlier records */
export function recordingHandlers({ activity, requestLog, clock, gate }: Deps, others: Others): Recording {
  type Handle = (input: object) => Promise<{ readonly ok: boolean; readonly data?: unknown }>
  const read: ReadRecord = ({ id }, input) =>
    gate.run(() => (others[id.split('.')[1] as keyof Others] as Handle)(input)).then(({ data }) => data)
  let last: Promise<unknown> = Promise.resolve()
  return {
    recordScenario: {
      // A recording takes seconds: a reset, and the calls behind the reset, must not wait for it.
      bypassesGate: true,
      handle: async ({ ids, format }, { gone }) => {
        // Loaded on demand: few servers record.
        const { recordedScenario } = await import('../../recorder/recorded-scenario.js')
        const chosen = ids && { ids: new Set(ids) }
        const inPieces = pieces(gone())
        // One at a time: each takes up to 16 MiB of exchanges, and a share of the processor.
        const made = last.then(() => {
          const startedAt = requestLog.since(clock.now())
          const lines = activity.lines(chosen?.ids)
          return recordedScenario({ lines, startedAt, read, inPieces, format, ...chosen })
        })
        last = made.catch(() => {})
        return { ok: true, data: jsonPieces(await made, inPieces) }
      },
    },
  }
}

/** JSON of a recording in pieces: to escape and send 16 MiB in one piece would block other calls for half a second. */
async function* jsonPieces({ parts, ...others }: RecordedScenario, inPieces: InPieces): AsyncGenerator<string> {
  yield `${JSON.stringify(others).slice(0, -1)},"text":${parts === null ? 'null}' : '"'}`
  if (parts === null) return
  for await (const part of inPieces(parts)) yield JSON.stringify(part).slice(1, -1)
  yield '"}'
}
