import type { Context } from '../command/context.js'
import { type Failure, fail } from '../failures/failure.js'
import { JqThread } from '../output/jq.js'
import type { Scenario, ScenarioStep } from './document.js'
import { openFixture } from './fixture.js'
import { StepRunner } from './step-runner.js'
import { UnknownVariable } from './variables.js'

export interface StepReport {
  readonly name: string
  readonly line: number
  readonly status: 'passed' | 'failed' | 'skipped'
  readonly duration_ms: number
  /** Descriptions of the failed assertions, one line each. */
  readonly problems: readonly string[]
  /** Why the platform could not take a skipped step; null for a step after a failed one. */
  readonly reason: string | null
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
  /** True to run the steps after a failed one too, and to skip those that the server cannot take. */
  readonly compares: boolean
}

interface ScenarioResult {
  readonly ok: true
  readonly report: ScenarioReport
  /** Captured values and credentials, by name of the environment variable. */
  readonly environment: Readonly<Record<string, string>>
}

/** Milliseconds that the teardown steps may take after Ctrl-C. */
const TEARDOWN_MS = 10_000

/** Runs the steps of a file up to the first failure, then the teardown steps (rules/cli.md#scenarios). */
export async function runScenario(
  context: Context,
  scenario: Scenario,
  { baseUrl, webhookPort, compares }: RunOptions,
): Promise<ScenarioResult | Failure> {
  const startedAt = performance.now()
  const opened = await openFixture(context, scenario, baseUrl, webhookPort)
  if (!opened.ok) return opened
  const { signal } = context.host
  const jq = new JqThread()
  try {
    const stepRunner = new StepRunner(context, opened.value, scenario.vars, jq)
    const steps: StepReport[] = []
    for (const step of scenario.steps) {
      const goesOn = (compares || steps.every((it) => it.status === 'passed')) && !signal.aborted
      steps.push(goesOn ? await runTimed(stepRunner, step, signal, compares) : skipped(step, null))
    }
    const teardown: StepReport[] = []
    for (const step of scenario.teardown) {
      const limit = signal.aborted ? AbortSignal.timeout(TEARDOWN_MS) : signal
      teardown.push(await runTimed(stepRunner, step, limit, compares))
    }
    const passed = [...steps, ...teardown].every(({ status, reason }) => status === 'passed' || reason !== null)
    const { file, name } = scenario
    const report = { file, name, passed, duration_ms: since(startedAt), steps, teardown }
    return { ok: true, report, environment: stepRunner.environment }
  } catch (error) {
    if (error instanceof UnknownVariable) return fail('INVALID_INPUT', `${scenario.file}, vars: ${error.message}.`)
    throw error
  } finally {
    jq.close()
    await opened.value.close()
  }
}

async function runTimed(
  stepRunner: StepRunner,
  step: ScenarioStep,
  signal: AbortSignal,
  compares: boolean,
): Promise<StepReport> {
  const startedAt = performance.now()
  const obstacle = compares ? await stepRunner.obstacleTo(step) : null
  if (obstacle !== null) return skipped(step, obstacle)
  const problems = await stepRunner.run(step, signal)
  const refused = compares && problems.length > 0 ? stepRunner.incapacity(step) : null
  if (refused !== null) return skipped(step, refused)
  const { name, line } = step
  const status = problems.length === 0 ? 'passed' : 'failed'
  return { name, line, status, duration_ms: since(startedAt), problems, reason: null }
}

const skipped = ({ name, line }: ScenarioStep, reason: string | null): StepReport => ({
  ...{ name, line, reason },
  status: 'skipped',
  duration_ms: 0,
  problems: [],
})

const since = (startedAt: number) => Math.round(performance.now() - startedAt)
