import type { Context } from '../../../command/context.js'
import type { Failure } from '../../../failure.js'
import { JqThread } from '../../../output/jq-thread.js'
import type { Scenario, Step } from './document.js'
import { openStage } from './fixture.js'
import { Player } from './player.js'

export interface StepReport {
  readonly name: string
  readonly line: number
  readonly status: 'passed' | 'failed' | 'skipped'
  readonly duration_ms: number
  /** What was not as expected. */
  readonly problems: readonly string[]
}

export interface ScenarioReport {
  readonly file: string
  readonly name: string
  readonly passed: boolean
  readonly duration_ms: number
  readonly steps: readonly StepReport[]
  readonly teardown: readonly StepReport[]
}

export interface RunOptions {
  readonly baseUrl: string | undefined
  readonly webhookPort: number
}

/** Time for the teardown of a run that was interrupted. */
const TEARDOWN_MS = 10_000

/** Plays one file to its first step that fails, then its teardown, whatever happened before. */
export async function runScenario(
  context: Context,
  scenario: Scenario,
  { baseUrl, webhookPort }: RunOptions,
): Promise<{ readonly ok: true; readonly report: ScenarioReport } | Failure> {
  const startedAt = performance.now()
  const staged = await openStage(context, scenario, baseUrl, webhookPort)
  if (!staged.ok) return staged
  const { signal } = context.host
  const jq = new JqThread()
  try {
    const player = new Player(context, staged.stage, scenario.vars, jq)
    const steps: StepReport[] = []
    for (const step of scenario.steps) {
      const goesOn = steps.every((it) => it.status === 'passed') && !signal.aborted
      steps.push(goesOn ? await playTimed(player, step, signal) : skipped(step))
    }
    const teardown: StepReport[] = []
    for (const step of scenario.teardown) {
      const limit = signal.aborted ? AbortSignal.timeout(TEARDOWN_MS) : signal
      teardown.push(await playTimed(player, step, limit))
    }
    const passed = [...steps, ...teardown].every((it) => it.status === 'passed')
    const { file, name } = scenario
    return { ok: true, report: { file, name, passed, duration_ms: since(startedAt), steps, teardown } }
  } finally {
    jq.close()
    await staged.stage.close()
  }
}

async function playTimed(player: Player, step: Step, signal: AbortSignal): Promise<StepReport> {
  const startedAt = performance.now()
  const problems = await player.play(step, signal)
  const { name, line } = step
  return { name, line, status: problems.length === 0 ? 'passed' : 'failed', duration_ms: since(startedAt), problems }
}

const skipped = ({ name, line }: Step): StepReport => ({ name, line, status: 'skipped', duration_ms: 0, problems: [] })

const since = (startedAt: number) => Math.round(performance.now() - startedAt)
