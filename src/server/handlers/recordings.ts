import type { ReadRecord } from '../../recorder/existing.js'
import type { Deps } from '../deps.js'
import type { Handlers } from '../handler.js'

type Recording = Pick<Handlers['platform'], 'recordScenario'>
type Others = Omit<Handlers['platform'], keyof Recording>

/** Turns activity into a scenario (RULES.md#scenarios). @param others handlers that read the records from before it */
export function recordingHandlers({ activity, requestLog, clock }: Deps, others: Others): Recording {
  const read: ReadRecord = async ({ id }, input) => {
    type Handle = (input: object) => Promise<{ readonly ok: boolean; readonly data?: unknown }>
    const result = await (others[id.split('.')[1] as keyof Others] as Handle)(input)
    return result.data
  }
  return {
    recordScenario: async ({ ids }) => {
      // Loaded on demand: few servers record.
      const { recordedScenario } = await import('../../recorder/recorded-scenario.js')
      const chosen = ids && { ids: new Set(ids) }
      const startedAt = requestLog.since(clock.now())
      return { ok: true, data: await recordedScenario({ lines: activity.lines(), startedAt, read, ...chosen }) }
    },
  }
}
