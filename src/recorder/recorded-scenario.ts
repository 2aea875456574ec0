import type { OutputOf } from '../contract/endpoint.js'
import { endpoints } from '../contract/index.js'
import type { ActivityLine, platformActivity } from '../contract/platform/activity.js'
import { draftOf } from './draft.js'
import { eventsOf } from './events.js'
import { type ReadRecord, readExisting } from './existing.js'
import { preparation, unknownIds } from './preparation.js'
import { scenarioText } from './write.js'

export type RecordedScenario = OutputOf<typeof platformActivity.recordScenario>

interface RecordingInput {
  /** Lines of the activity, oldest first, with names of secrets. */
  readonly lines: readonly ActivityLine[]
  /** Requests and deliveries to record, by their ids; default: all. */
  readonly ids?: ReadonlySet<string>
  /** Time of the server before the first line, if it is known. */
  readonly startedAt: string | undefined
  /** Says why the recording ended before the user ended it. */
  readonly ending?: string | undefined
  /** Reads records that existed before the recording. */
  readonly read: ReadRecord
}

/** Makes a scenario of the activity of a server (RULES.md#scenarios). */
export async function recordedScenario(input: RecordingInput): Promise<RecordedScenario> {
  const { lines, ids, startedAt, read } = input
  const routeOf = (id: string) => endpoints.find((it) => it.id === id)
  const all = eventsOf(lines, routeOf, ids)
  // An empty server has the state after a reset.
  const events = all.slice(
    Math.max(
      0,
      all.findLastIndex((it) => it.kind === 'reset'),
    ),
  )
  const unknown = unknownIds(events)
  const existing = unknown.length === 0 ? new Map() : await readExisting(unknown, read)
  const { steps, comments, ...head } = draftOf(preparation(events, existing, routeOf), events, startedAt)
  const ending = input.ending === undefined ? comments : [...comments, input.ending]
  const remarks = [...steps.flatMap((it) => it.comments), ...ending]
  if (steps.length === 0) return { text: null, steps: 0, remarks }
  const [at = ''] = events.flatMap((it) => (it.kind === 'call' || it.kind === 'attempt' ? it.at : []))
  const name = `Recorded at ${at.slice(0, 16).replace('T', ' ')}`
  const text = scenarioText(name, { ...head, steps, comments: ending }, await import('yaml'))
  return { text, steps: steps.length, remarks }
}
