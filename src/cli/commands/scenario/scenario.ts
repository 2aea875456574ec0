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
import type { ScenarioReport, StepReport } from '../../scenario/run.js'
import { stepsOf } from '../../scenario/run-scenarios.js'
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
        'Each file gets its own throwaway server, with a test clock, unless --base-url or --profile names a server, or an environment variable of theirs, which a file with `server: { own: true }` ignores, such as a recorded one. Files are checked whole before anything is sent. The first step that fails ends a file, except with --profile; its teardown runs all the same. Exit code 1 when a step failed, 11 when the platform of --profile could not take some.',
        'A step is a call (`call: vouchers.issue`, as `voucherctl api routes` lists them, or `call: POST /open-platform/…`), a delivery that must arrive (`receive: voucher_issued`), or a move of the test clock (`advance: 31d`). `with` is the input, `expect` the result (status, code, replayed, data, details, and `that`: jq expressions that hold), `capture` keeps jq results for ${name} in later steps, `use` names the credentials of later steps, `as` that of this one, `key` its Idempotency-Key, `within` repeats a read until it fits.',
        'There from the start: ${run} (new each time), ${webhook.url}, ${webhook.secret}, ${env.NAME}; and, on its own server, the account and the operator.',
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

async function runFiles(context: Context, files: readonly string[], flags: RunFlags): Promise<Outcome<unknown>> {
  const parsed = await readScenarios(context, files)
  if (!parsed.ok) return parsed
  const keepsOwn = !isNamedByFlag(context)
  const isOnOwn = ({ server }: Scenario) => keepsOwn && server.own
  const isForNamed = isNamed(context) && !parsed.value.every(isOnOwn)
  const named = isForNamed ? (otherThanProfile(context) ?? context.baseUrl()) : undefined
  if (named?.ok === false) return named
  const baseUrl = named?.value
  if (!context.dryRun) return runAll(context, parsed.value, { baseUrl, keepsOwn }, flags)
  const whereOf = (it: Scenario) => (baseUrl === undefined || isOnOwn(it) ? 'a throwaway server' : baseUrl)
  const plans = parsed.value.map((it) => context.plan(`run ${counted(it.steps)} of ${it.file} on ${whereOf(it)}`))
  return plans.at(-1) as Outcome<unknown>
}

async function runAll(
  context: Context,
  scenarios: readonly Scenario[],
  { baseUrl, keepsOwn }: { readonly baseUrl: string | undefined; readonly keepsOwn: boolean },
  { parallel, junit, 'webhook-port': webhookPort, 'export-env': envFile }: RunFlags,
): Promise<Outcome<unknown>> {
  const { host, settings, output } = context
  const unwritable = envFile === undefined ? undefined : await checkWritable(host, envFile)
  const question = { action: `Running scenarios on ${baseUrl}`, word: settings.profileName.value }
  const confirm = async () => (baseUrl === undefined ? undefined : context.confirm(question))
  const problem = unwritable ?? (await writeJunit(host, junit, [])) ?? (await confirm())
  if (problem !== undefined) return problem
  const paint = await output.paint()
  const onlyFirst = isGivenForCall(settings.profileName) && !context.globals.debug
  const onReport = (report: ScenarioReport) => output.isForPeople && showReport(output, paint, report, onlyFirst)
  const { runScenarios } = await import('../../scenario/run-scenarios.js')
  const ran = await runScenarios(context, scenarios, { baseUrl, keepsOwn, webhookPort, parallel, onReport })
  if (!ran.ok) return ran
  const { data, environment } = ran
  const { passed, failed, not_run, duration_ms } = data
  const unwritten = await writeJunit(host, junit, data.items.map(suiteOf))
  const server = baseUrl === undefined ? {} : { VOUCHERCTL_BASE_URL: baseUrl }
  const isExported = envFile !== undefined && failed === 0
  const unexported = isExported ? writeEnvFile(host, envFile, { ...server, ...environment }) : undefined
  const exit = failed > 0 ? 1 : not_run > 0 ? INCOMPLETE : 0
  const failure = unwritten ?? unexported
  if (!output.isForPeople) return { ok: true, data, exit, failure }
  const rest = not_run === 0 ? '' : `, ${not_run} step${not_run === 1 ? '' : 's'} not run`
  output.say(`\n${passed} passed, ${failed} failed${rest}, in ${(duration_ms / 1000).toFixed(1)} s`)
  return { ok: true, printed: true, exit, failure }
}

async function readScenarios(context: Context, files: readonly string[]) {
  const texts: { file: string; text: string }[] = []
  for (const file of files) {
    const read = await readTextFile(context.host, file)
    if (!read.ok) return read
    texts.push({ file, text: read.text })
  }
  const { parseScenarios } = await import('../../scenario/run-scenarios.js')
  return parseScenarios(context, texts)
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

const isNamedByFlag = ({ settings: { baseUrl, profileName } }: Context) =>
  [baseUrl, profileName].some(({ source }) => source.startsWith('flag '))

const plain = (baseUrl: string | undefined) => baseUrl?.replace(/\/+$/, '')

/** Refuses an address of the environment instead of the address of --profile: it could be another platform. */
function otherThanProfile({ settings: { profileName, profile, baseUrl } }: Context): Failure | undefined {
  const isChosen = profileName.source.startsWith('flag ') && profile.base_url !== undefined
  const isOther = baseUrl.source.startsWith('environment ') && plain(baseUrl.value) !== plain(profile.base_url)
  if (!isChosen || !isOther) return undefined
  return usage(
    `Profile ${profileName.value} has the server ${profile.base_url}, but ${baseUrl.source} names another one.`,
    'Nothing was run. Remove that setting, or name the server with --base-url.',
  )
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

function linesOf(file: string, { name, line }: StepReport, problems: readonly string[]): string {
  return [`    ${file}:${line}: ${name}`, ...problems.map((it) => `      ${it}`)].map((it) => plainLine(it)).join('\n')
}

const suiteOf = ({ steps, teardown, ...report }: ScenarioReport) => ({ ...report, cases: [...steps, ...teardown] })
