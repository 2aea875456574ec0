import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import type { Context } from '../../command/context.js'
import { type Group, leaf } from '../../command/leaf.js'
import { isGivenForCall } from '../../config/settings.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { integer, path, text, toggle, type ValuesOf } from '../../flags/flags.js'
import { checkWritable, readTextFile } from '../../host/files.js'
import type { Paint } from '../../output/colour.js'
import { writeJunit } from '../../output/junit.js'
import type { Outcome } from '../../output/outcome.js'
import type { Output } from '../../output/output.js'
import { plainLine } from '../../output/text.js'
import type { Scenario } from '../../scenario/document.js'
import type { RunOptions, ScenarioReport, StepReport } from '../../scenario/run.js'
import { writeEnvFile } from './export-env.js'
import { init } from './init.js'
import { record } from './record.js'

const PARALLEL_MAX = 64
/** Exit code if all steps passed that the platform could take. */
const INCOMPLETE = 11

const runFlags = {
  parallel: integer('N', 'Files at the same time, default one for each processor', 1, PARALLEL_MAX),
  junit: text('FILE', 'Write a JUnit report'),
  watch: toggle('Run again when a file changes, until Ctrl-C'),
  'export-env': path('FILE', 'If the file passes, write what it captured as export lines for a shell'),
  'webhook-port': integer(
    'N',
    'Port that receives deliveries, default any free one; with it, one file at a time',
    1,
    65_535,
  ),
}
type RunFlags = Partial<ValuesOf<typeof runFlags>>

export const scenario: Group = {
  name: 'scenario',
  alias: 'scenarios',
  summary: 'Steps in a file, run against a server and checked',
  commands: [
    leaf({
      name: 'run',
      summary: 'Run the steps of YAML files and check their results',
      notes: [
        'Each file gets a throwaway server of its own, with a test clock, unless a server is named with --base-url, --profile or their environment variables. Files are checked whole before anything is sent. The first step that fails ends a file, except with --profile; its teardown runs all the same. Exit code 1 when a step failed, 11 when the platform of --profile could not take some.',
        'A step is a call (`call: vouchers.issue`, as `voucherctl api routes` lists them, or `call: POST /open-platform/…`), a delivery that must arrive (`receive: voucher_issued`), or a move of the test clock (`advance: 31d`). `with` is the input, `expect` the expected result (status, code, replayed, data, details, and `that`: jq expressions that must be true), `capture` keeps values by jq expression for ${name} in later steps, `use` names the credentials of later steps, `as` the credential of this one, `key` its Idempotency-Key, `within` repeats a read until it fits.',
        'There from the start: ${run} (new each time), ${webhook.url}, ${webhook.secret}, ${env.NAME}; and, on a server of its own, the account and the operator.',
        'With --debug a failed call shows its request and its response. --export-env writes captured values as SCENARIO_NAME and credentials as VOUCHERCTL_TOKEN and the like, as export lines in a file that only you can read.',
      ],
      positional: { name: 'FILE', summary: 'One or more scenario files', ask: 'Scenario file', several: true },
      flags: runFlags,
      examples: [
        { command: 'voucherctl scenario run refund.yaml' },
        { command: 'voucherctl scenario run refund.yaml --watch', comment: 'While you write it' },
        { command: 'voucherctl scenario run scenarios/*.yaml --junit report.xml', comment: 'In CI' },
        { command: 'voucherctl scenario run refund.yaml --profile staging', comment: 'Against a server that runs' },
      ],
      changes: true,
      run: async (context, { positional, rest, flags }): Promise<Outcome<unknown>> => {
        const files = [positional, ...rest]
        if (flags['export-env'] !== undefined && files.length > 1)
          return usage('--export-env goes with one scenario file, so that no value replaces another.')
        return flags.watch && !context.dryRun ? watchFiles(context, files, flags) : runFiles(context, files, flags)
      },
    }),
    init,
    record,
  ],
}

/** Runs all scenario files once. */
export async function runFiles(context: Context, files: readonly string[], flags: RunFlags): Promise<Outcome<unknown>> {
  const read = await readScenarios(context, files)
  if (!read.ok) return read
  const { scenarios } = read
  const named = isNamed(context) ? (otherThanProfile(context) ?? context.baseUrl()) : undefined
  if (named?.ok === false) return named
  const baseUrl = named?.value
  if (context.dryRun) {
    const where = baseUrl === undefined ? 'a throwaway server' : baseUrl
    const plans = scenarios.map(({ file, steps }) => context.plan(`run ${counted(steps)} of ${file} on ${where}`))
    return plans.at(-1) as Outcome<unknown>
  }
  const { junit, 'webhook-port': port, 'export-env': envFile } = flags
  const problem = await allowed(context, baseUrl, { junit, envFile })
  if (problem !== undefined) return problem
  const parallel = port === undefined ? (flags.parallel ?? availableParallelism()) : 1
  const compares = isGivenForCall(context.settings.profileName)
  return runAll(context, scenarios, { baseUrl, webhookPort: port ?? 0, compares, parallel, junit, envFile })
}

/** Runs the files, and again after each change of a file, until Ctrl-C. Mistakes and failures do not end the loop. */
async function watchFiles(context: Context, files: readonly string[], flags: RunFlags): Promise<Outcome<unknown>> {
  const { host, output } = context
  if (files.includes('-')) return usage('--watch needs files, not standard input.')
  const { FileWatch } = await import('../../host/file-watch.js')
  let watch: InstanceType<typeof FileWatch>
  try {
    watch = new FileWatch(files.map((it) => resolve(host.cwd, it)))
  } catch (error) {
    return fail('FILE_UNREADABLE', `A folder of the files cannot be watched (${codeOf(error)}).`, 'Check the paths.')
  }
  try {
    for (;;) {
      const outcome = await runFiles(context, files, flags)
      if (host.signal.aborted) return outcome
      if (!outcome.ok && 'code' in outcome) await output.fail(outcome)
      else if ('data' in outcome) await output.printLine(outcome.data)
      if ('failure' in outcome && outcome.failure !== undefined) await output.fail(outcome.failure)
      output.notice('Waiting for a change. Ctrl-C stops it.')
      const changed = await watch.next(host.signal)
      if (changed === undefined) return { ok: true, printed: true }
      output.notice(`\n${changed} has changed.`)
    }
  } finally {
    watch.close()
  }
}

const counted = ({ length }: readonly unknown[]) => (length === 1 ? '1 step' : `${length} steps`)

/** True if a flag or the environment names a server. A stored profile does not: no scenario may run there by accident. */
const isNamed = ({ settings: { baseUrl, profileName } }: Context) => [baseUrl, profileName].some(isGivenForCall)

const plain = (baseUrl: string | undefined) => baseUrl?.replace(/\/+$/, '')

/** Refuses an address of the environment instead of that of --profile, which could be another platform. */
function otherThanProfile({ settings: { profileName, profile, baseUrl } }: Context): Failure | undefined {
  const isChosen = profileName.source.startsWith('flag ') && profile.base_url !== undefined
  const isOther = baseUrl.source.startsWith('environment ') && plain(baseUrl.value) !== plain(profile.base_url)
  if (!isChosen || !isOther) return undefined
  return usage(
    `Profile ${profileName.value} has the server ${profile.base_url}, but ${baseUrl.source} names another one.`,
    'Nothing was run. Remove that setting, or name the server with --base-url.',
  )
}

type ScenariosResult = { readonly ok: true; readonly scenarios: readonly Scenario[] } | Failure

/** Parses all scenario files; if any has errors, the failure lists the errors of all files. */
async function readScenarios({ host }: Context, files: readonly string[]): Promise<ScenariosResult> {
  const { parseScenario } = await import('../../scenario/parse.js')
  const { knownRoutes } = await import('../../command/known-routes.js')
  const routes = await knownRoutes()
  const yaml = await import('yaml')
  const checkInput = await (await import('../../scenario/check-input.js')).inputCheck()
  const { brokenExpressions } = await import('../../scenario/evaluate.js')
  const { JqThread } = await import('../../output/jq.js')
  const jq = new JqThread()
  const scenarios: Scenario[] = []
  const errors: { pointer: string; message: string }[] = []
  for (const file of files) {
    const read = await readTextFile(host, file)
    if (!read.ok) return read
    const parsed = parseScenario(read.text, file, routes, yaml, checkInput)
    if (!parsed.ok) {
      errors.push(...parsed.problems.map((it) => ({ pointer: `${file}:${it.line}:${it.column}`, message: it.message })))
      continue
    }
    scenarios.push(parsed.scenario)
    const broken = await brokenExpressions(parsed.scenario, jq, host.signal)
    errors.push(...broken.map(({ line, message }) => ({ pointer: `${file}:${line}`, message })))
  }
  jq.close()
  if (errors.length === 0) return { ok: true, scenarios }
  const hint = 'Nothing was run. `voucherctl scenario run --help` tells what a step may hold.'
  return fail(
    'INVALID_INPUT',
    errors.length === 1 ? 'A scenario has a mistake.' : `The scenarios have ${errors.length} mistakes.`,
    hint,
    { errors },
  )
}

/** Checks before the first step that scenarios may run on this server and that its files are writable. */
async function allowed(
  context: Context,
  baseUrl: string | undefined,
  { junit, envFile }: Pick<SuiteOptions, 'junit' | 'envFile'>,
): Promise<Failure | undefined> {
  const unwritable = envFile === undefined ? undefined : await checkWritable(context.host, envFile)
  const problem = unwritable ?? (await writeJunit(context.host, junit, []))
  if (problem !== undefined) return problem
  if (baseUrl === undefined) return undefined
  const { profileName } = context.settings
  const refusal = await context.confirm({ action: `Running scenarios on ${baseUrl}`, word: profileName.value })
  if (refusal !== undefined) return refusal
  const { checkServer } = await import('../../scenario/fixture.js')
  return checkServer(context, baseUrl)
}

interface SuiteOptions extends RunOptions {
  readonly parallel: number
  readonly junit: string | undefined
  readonly envFile: string | undefined
}

/** Runs several files concurrently and returns their reports in the order of the files. */
async function runAll(
  context: Context,
  scenarios: readonly Scenario[],
  { parallel, junit, envFile, ...options }: SuiteOptions,
): Promise<Outcome<unknown>> {
  const { runScenario } = await import('../../scenario/run.js')
  const { output } = context
  const paint = await output.paint()
  const startedAt = performance.now()
  const left = [...scenarios.entries()]
  const results: (Awaited<ReturnType<typeof runScenario>> | undefined)[] = []
  let told = 0
  const tellFinished = () => {
    for (const result of results.slice(told)) {
      if (!result?.ok) return
      told += 1
      if (output.isForPeople) showReport(output, paint, result.report, options.compares && !context.globals.debug)
    }
  }
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [at, scenario] = next
      const result = await runScenario(context, scenario, options)
      results[at] = result
      if (!result.ok) left.length = 0
      tellFinished()
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, scenarios.length) }, worker))
  const failure = results.find((it) => it?.ok === false)
  if (failure?.ok === false) return failure
  const reports = results.flatMap((it) => (it?.ok ? it.report : []))
  let fileFailure = await writeJunit(context.host, junit, reports.map(suiteOf))
  const failed = reports.filter((it) => !it.passed).length
  const notRun = reports.flatMap(stepsOf).filter((it) => it.reason !== null).length
  if (envFile !== undefined && failed === 0) {
    const server = options.baseUrl === undefined ? {} : { VOUCHERCTL_BASE_URL: options.baseUrl }
    const captured = results.map((it) => (it?.ok ? it.environment : {}))
    const problem = writeEnvFile(context.host, envFile, Object.assign({ ...server }, ...captured))
    fileFailure ??= problem
  }
  const data = {
    items: reports,
    passed: reports.length - failed,
    failed,
    not_run: notRun,
    duration_ms: Math.round(performance.now() - startedAt),
  }
  const exit = failed > 0 ? 1 : notRun > 0 ? INCOMPLETE : 0
  if (!output.isForPeople) return { ok: true, data, exit, failure: fileFailure }
  const rest = notRun === 0 ? '' : `, ${notRun} step${notRun === 1 ? '' : 's'} not run`
  output.say(`\n${data.passed} passed, ${failed} failed${rest}, in ${(data.duration_ms / 1000).toFixed(1)} s`)
  return { ok: true, printed: true, exit, failure: fileFailure }
}

function showReport(output: Output, paint: Paint, report: ScenarioReport, onlyFirst: boolean): void {
  const { file, name, passed, duration_ms, steps } = report
  const mark = passed ? paint.done('✓') : paint.error('✗')
  const title = name === file ? '' : `  ${name}`
  const extent = `${counted(steps)}, ${(duration_ms / 1000).toFixed(1)} s`
  output.say(plainLine(`${mark} ${file}${title} `) + paint.quiet(`(${extent})`))
  for (const step of stepsOf(report)) {
    if (step.status === 'failed') output.say(linesOf(file, step, onlyFirst ? step.problems.slice(0, 1) : step.problems))
    else if (step.reason !== null) output.say(linesOf(file, step, [`not run: ${step.reason}`]))
  }
}

const stepsOf = ({ steps, teardown }: ScenarioReport) => [...steps, ...teardown]

function linesOf(file: string, { name, line }: StepReport, problems: readonly string[]): string {
  return [`    ${file}:${line}: ${name}`, ...problems.map((it) => `      ${it}`)].map((it) => plainLine(it)).join('\n')
}

const suiteOf = ({ steps, teardown, ...report }: ScenarioReport) => ({ ...report, cases: [...steps, ...teardown] })
