import { endpoints } from '../../../../contract/index.js'
import type { ActivityLine } from '../../../../contract/platform/activity.js'
import { type Yaml, YamlDocument } from '../../../../files/yaml-document.js'
import { knownRoutes } from '../../../command/known-routes.js'
import { inputCheck } from '../runner/check-input.js'
import { parseScenario } from '../runner/parse.js'
import type { DraftStep } from './convert.js'
import { draftOf, type ScenarioDraft } from './draft.js'
import { eventsOf } from './events.js'
import { type Existing, preparation, unknownIds } from './preparation.js'
import { scenarioText } from './write.js'

interface RecordedScenario {
  readonly text: string
  readonly steps: number
  /** Comments of the file. */
  readonly remarks: readonly string[]
}

interface RecordingInput {
  readonly lines: readonly ActivityLine[]
  readonly startedAt: string
  /** True if the server ended the recording. */
  readonly isBroken?: boolean
  readonly file: string
  /** Reads records that existed before the recording. */
  readonly read: (ids: readonly string[]) => Promise<Existing>
}

/** Makes a scenario of the activity of a server, which the parser of scenarios accepts. */
export async function recordedScenario(input: RecordingInput): Promise<RecordedScenario> {
  const { lines, startedAt, isBroken = false, file, read } = input
  const yaml = await import('yaml')
  const routeOf = (id: string) => endpoints.find((it) => it.id === id)
  const all = eventsOf(lines, routeOf)
  // An empty server has the state after a reset.
  const events = all.slice(
    Math.max(
      0,
      all.findLastIndex((it) => it.kind === 'reset'),
    ),
  )
  const ids = unknownIds(events)
  const existing = ids.length === 0 ? new Map() : await read(ids)
  const made = draftOf(preparation(events, existing, routeOf), events, startedAt)
  const end = isBroken ? ['The server ended the recording here.'] : []
  const draft = { ...made, comments: [...made.comments, ...end] }
  const name = `Recorded at ${startedAt.slice(0, 16).replace('T', ' ')}`
  const checked = await withoutMistakes(draft, (it) => scenarioText(name, it, yaml), file, yaml)
  const remarks = [...checked.steps.flatMap((it) => it.comments), ...checked.comments]
  return { text: scenarioText(name, checked, yaml), steps: checked.steps.length, remarks }
}

/** Replaces each step that the parser refuses by a comment with its reason. */
async function withoutMistakes(
  draft: ScenarioDraft,
  textOf: (draft: ScenarioDraft) => string,
  file: string,
  yaml: Yaml,
): Promise<ScenarioDraft> {
  const routes = await knownRoutes()
  const checkInput = await inputCheck()
  let { steps, comments } = draft
  while (steps.length > 0) {
    const text = textOf({ ...draft, steps, comments })
    const parsed = parseScenario(text, file, routes, yaml, checkInput)
    const [problem] = parsed.ok ? [] : parsed.problems
    if (problem === undefined) break
    const document = new YamlDocument(text, yaml)
    const at = steps.findLastIndex((_, i) => document.placeOf(['steps', i]).line <= problem.line)
    const wrong = steps[Math.max(at, 0)] as DraftStep
    const remarks = [...wrong.comments, `${wrong.members.call ?? 'A step'} was left out: ${problem.message}`]
    const next = steps[at + 1]
    if (next === undefined) comments = [...remarks, ...comments]
    else steps = steps.with(at + 1, { ...next, comments: [...remarks, ...next.comments] })
    steps = steps.filter((it) => it !== wrong)
  }
  return { ...draft, steps, comments }
}
