import type { OutputOf } from '../contract/endpoint.js'
import type { ActivityLine, platformActivity } from '../contract/platform/activity.js'
import { draftOf } from './draft.js'
import { eventsOf, type InPieces } from './events.js'
import { type ReadRecord, readExisting } from './existing.js'
import { preparation, unknownIds } from './preparation.js'
import { scenarioText } from './write.js'
import { forTest, testText } from './write-test.js'

/** A scenario file in parts; null if no step was recorded. */
export type RecordedScenario = Omit<OutputOf<typeof platformActivity.recordScenario>, 'text'> & {
  readonly parts: readonly string[] | null
}

interface RecordingInput {
  /** Lines of the activity, oldest first, with names of secrets. */
  readonly lines: Iterable<ActivityLine>
  /** Requests and deliveries to record, by their ids; default: all. */
  readonly ids?: ReadonlySet<string>
  readonly format?: 'scenario' | 'test' | undefined
  /** Time of the server before the first line, if it is known. */
  readonly startedAt: string | undefined
  /** Says why the recording ended before the user ended it. */
  readonly ending?: string | undefined
  /** Reads records that existed before the recording. */
  readonly read: ReadRecord
  readonly inPieces?: InPieces
}

/** Makes a scenario of the activity of a server (rules/cli.md#scenarios). */
export async function recordedScenario(input: RecordingInput): Promise<RecordedScenario> {
  const { lines, ids, format, startedAt, read, inPieces = (items) => items } = input
  const all = await eventsOf(lines, inPieces, ids)
  // An empty server has the state after a reset.
  const start = Math.max(
    0,
    all.findLastIndex((it) => it.kind === 'reset'),
  )
  const events = all.slice(start).map((it) => (format === 'test' ? forTest(it) : it))
  const unknown = await unknownIds(events, inPieces)
  const existing = unknown.length === 0 ? new Map() : await readExisting(unknown, read, inPieces)
  const prepared = await preparation(events, existing, inPieces)
  const { steps, comments, ...head } = await draftOf(prepared, events, startedAt, inPieces)
  const ending = input.ending === undefined ? comments : [...comments, input.ending]
  // A test without a recorded call would compare nothing.
  const isEmpty = format === 'test' ? !steps.some((it) => 'expect' in it.members) : steps.length === 0
  if (isEmpty) return { parts: null, steps: 0, remarks: [...ending] }
  if (format === 'test') return testText({ ...head, steps, comments: ending }, inPieces)
  const [at = ''] = events.flatMap((it) => (it.kind === 'call' || it.kind === 'attempt' ? it.at : []))
  const name = `Recorded at ${at.slice(0, 16).replace('T', ' ')}`
  return scenarioText(name, { ...head, steps, comments: ending }, await import('yaml'), inPieces)
}
