import { availableParallelism } from 'node:os'
import type { Context, Ok } from '../command/context.js'
import { isGivenForCall } from '../config/settings.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Scenario } from './document.js'
import type { ScenarioReport } from './run.js'

interface ScenarioText {
  readonly file: string
  readonly text: string
}

/** Parses all scenarios; if any has mistakes, the failure lists the mistakes of all. */
export async function parseScenarios(
  { host }: Context,
  texts: readonly ScenarioText[],
): Promise<Ok<readonly Scenario[]> | Failure> {
  const { parseScenario } = await import('./parse.js')
  const { knownRoutes } = await import('../command/known-routes.js')
  const routes = await knownRoutes()
  const yaml = await import('yaml')
  const checkInput = await (await import('./check-input.js')).inputCheck()
  const { brokenExpressions } = await import('./evaluate.js')
  const { JqThread } = await import('../output/jq.js')
  const jq = new JqThread()
  const value: Scenario[] = []
  const errors: { pointer: string; message: string }[] = []
  for (const { file, text } of texts) {
    const parsed = parseScenario(text, file, routes, yaml, checkInput)
    if (!parsed.ok) {
      errors.push(...parsed.problems.map((it) => ({ pointer: `${file}:${it.line}:${it.column}`, message: it.message })))
      continue
    }
    value.push(parsed.scenario)
    const broken = await brokenExpressions(parsed.scenario, jq, host.signal)
    errors.push(...broken.map(({ line, message }) => ({ pointer: `${file}:${line}`, message })))
  }
  jq.close()
  if (errors.length === 0) return { ok: true, value }
  const hint = 'Nothing was run. `voucherctl scenario run --help` tells what a step may hold.'
  return fail(
    'INVALID_INPUT',
    errors.length === 1 ? 'A scenario has a mistake.' : `The scenarios have ${errors.length} mistakes.`,
    hint,
    { errors },
  )
}

interface ScenariosOptions {
  /** A running server; absent to start one for each scenario. */
  readonly baseUrl?: string | undefined
  /** True to run a scenario with `server.own` on its own server all the same. */
  readonly keepsOwn?: boolean | undefined
  /** Port that receives deliveries, one scenario at a time; absent for any free ports. */
  readonly webhookPort?: number | undefined
  readonly parallel?: number | undefined
  /** Called for each report, in the order of the scenarios. */
  onReport?(report: ScenarioReport): void
}

/**
 * Runs several scenarios concurrently. On the server of a chosen profile, steps after a failed one run too.
 * @returns their reports in order, and captured values and credentials by name of the environment variable
 */
export async function runScenarios(
  context: Context,
  scenarios: readonly Scenario[],
  { baseUrl, keepsOwn, webhookPort, parallel = availableParallelism(), onReport }: ScenariosOptions,
) {
  const serverOf = ({ server }: Scenario) => (keepsOwn && server.own ? undefined : baseUrl)
  if (baseUrl !== undefined && scenarios.some(serverOf)) {
    const { checkServer } = await import('./fixture.js')
    const impostor = await checkServer(context, baseUrl)
    if (impostor !== undefined) return impostor
  }
  const { runScenario } = await import('./run.js')
  const isOfProfile = isGivenForCall(context.settings.profileName)
  const startedAt = performance.now()
  const left = [...scenarios.entries()]
  const results: (Awaited<ReturnType<typeof runScenario>> | undefined)[] = []
  let reported = 0
  const reportFinished = () => {
    for (const result of results.slice(reported)) {
      if (!result?.ok) return
      reported += 1
      onReport?.(result.report)
    }
  }
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [at, scenario] = next
      const server = serverOf(scenario)
      const options = { baseUrl: server, webhookPort: webhookPort ?? 0, compares: isOfProfile && server !== undefined }
      const result = await runScenario(context, scenario, options)
      results[at] = result
      if (!result.ok) left.length = 0
      reportFinished()
    }
  }
  const workers = webhookPort === undefined ? Math.min(parallel, scenarios.length) : 1
  await Promise.all(Array.from({ length: workers }, worker))
  const failure = results.find((it) => it?.ok === false)
  if (failure?.ok === false) return failure
  const ended = results.flatMap((it) => (it?.ok ? it : []))
  const items = ended.map((it) => it.report)
  const failed = items.filter((it) => !it.passed).length
  const notRun = items.flatMap(stepsOf).filter((it) => it.reason !== null).length
  const duration_ms = Math.round(performance.now() - startedAt)
  const data = { items, passed: items.length - failed, failed, not_run: notRun, duration_ms }
  const environment: Readonly<Record<string, string>> = Object.assign({}, ...ended.map((it) => it.environment))
  return { ok: true as const, data, environment }
}

export const stepsOf = ({ steps, teardown }: ScenarioReport) => [...steps, ...teardown]
