import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { leaf } from '../../command/leaf.js'
import type { Failure } from '../../failures/failure.js'
import { choice, duration, integer, listOf, matching, needing, text, toggle } from '../../flags/flags.js'
import { checkWritable, tryToWrite } from '../../host/files.js'
import type { Host } from '../../host/host.js'
import { writeJunit } from '../../output/junit.js'
import { showLiveLine } from '../../output/live-line.js'
import type { Outcome } from '../../output/outcome.js'
import { linesOf, suitesOf } from '../../prove/lines.js'
import { isWebhook, runProve } from '../../prove/run.js'
import { seedFlag } from '../../server/seed-file.js'

const flags = {
  ...seedFlag,
  app: text('COMMAND', 'Program beside the action, started for each variant'),
  ready: matching('URL', 'Address of the app, 2xx when ready', URL.canParse, 'must be a URL'),
  webhook: matching(
    'BOT=URL',
    'Receiver of the updates of a bot, a loopback address',
    isWebhook,
    'must be BOT=http://127.0.0.1:PORT/PATH',
  ),
  state: text('COMMAND', "Prints the program's own state after the action"),
  reset: text('COMMAND', "Puts the program's own state back before each variant"),
  shell: toggle('Run --app, --state and --reset with sh -c'),
  env: listOf(
    'NAME=TEXT',
    'Variable, such as SHOP_URL={base_url}',
    (it) => /^[A-Za-z_]\w*=/.test(it),
    'must be NAME=TEXT',
  ),
  again: integer('N', 'Repeats of an action that was not done, default 1', 0, 100),
  patience: duration('Longest variant, default 5 undisturbed runs and 30s', 1),
  budget: duration('Time for all variants, default 60s', 1),
  only: text('VARIANT', 'Only this variant'),
  list: toggle('List the variants without running them'),
  jobs: integer('N', 'Variants at the same time, default 1', 1, 16),
  'fail-on': choice(['money', 'any'], 'Findings that fail the run, default any'),
  junit: text('FILE', 'Write a JUnit report'),
  scenario: text('FILE', 'Write the calls of the first finding as a scenario'),
}
/** Exit codes and judgements: rules/cli.md#prove. */
export const prove = leaf({
  name: 'prove',
  summary: 'Try whether a program redeems twice, loses a voucher or gives goods away',
  notes: [
    'COMMAND is one business action: one purchase, one till receipt, one import. Exit code 0 means done, another one not done. It finds a server in VOUCHERCTL_BASE_URL, VOUCHERCTL_TOKEN, VOUCHERCTL_TEMPLATE_ID, VOUCHERCTL_CODE (an issued voucher), VOUCHERCTL_RECIPIENT, VOUCHERCTL_BOT_TOKEN, VOUCHERCTL_CHAT_ID and VOUCHERCTL_WEBHOOK_SECRET. It is in memory.',
    'The command runs the action twice undisturbed, then once for each disturbance of each call, and compares what the program believes with what the platform has. Exit codes: 0 nothing found, 1 findings, 2 the program cannot be tried. The guide: `voucherctl help proving`.',
  ],
  positional: {
    name: 'COMMAND',
    summary: 'After --: the action with its arguments',
    ask: 'Command of the action',
    several: true,
  },
  flags: { ...flags, ready: needing(flags.ready, 'app') },
  examples: [
    'voucherctl prove -- python3 sell.py',
    {
      command: 'voucherctl prove --only vouchers.redeem#1/drop_response -- python3 sell.py',
      comment: 'Repeat one finding',
    },
    {
      command:
        'voucherctl prove --app "node shop.js" --ready http://127.0.0.1:3000/health -- curl -fsS -X POST http://127.0.0.1:3000/checkout',
      comment: 'An app, with an action that calls it',
    },
    { command: 'voucherctl prove --budget 5m --junit report.xml -- ./sell.sh', comment: 'In CI' },
  ],
  run: async (context, { positional, rest, flags }): Promise<Outcome<unknown>> => {
    const { host, output } = context
    const unwritable = await checkFiles(host, flags)
    if (unwritable !== undefined) return unwritable
    let progress = ''
    const endProgress = showLiveLine(context, (columns) => progress.slice(0, columns))
    const proved = await runProve(host, [positional, ...rest], flags, {
      patienceMs: flags.patience,
      budgetMs: flags.budget,
      only: flags.only,
      list: flags.list,
      jobs: flags.jobs,
      records: flags.scenario !== undefined,
      signal: host.signal,
      onProgress: (done, total, id) => {
        progress = `${done} of ${total} variants  ${id}`
      },
    }).finally(endProgress)
    if (!proved.ok) return proved
    const { report, interrupted, scenario } = proved
    if (flags.list) {
      const variants = report.results.map((it) => it.variant)
      if (!output.isForPeople) return { ok: true, data: { ok: true, variants } }
      output.say(variants.join('\n'))
      return { ok: true, printed: true }
    }
    const unwritten = await writeJunit(host, flags.junit, suitesOf(report))
    const failure = unwritten ?? writeScenario(host, flags.scenario, scenario)
    const fails = report.findings.some((it) => flags['fail-on'] !== 'money' || it.weight === 'money')
    const outcome = { ok: true, exit: interrupted ? 130 : fails ? 1 : 0, failure } as const
    if (!output.isForPeople) return { ...outcome, data: report }
    output.say(linesOf(report, output.reportWidth, await output.paint()).join('\n'))
    return { ...outcome, printed: true }
  },
})

/** Checks the files of the report before the run. */
async function checkFiles(
  host: Host,
  { junit, scenario }: { junit: string | undefined; scenario: string | undefined },
) {
  const unwritable = await writeJunit(host, junit, [])
  return unwritable ?? (scenario === undefined ? undefined : checkWritable(host, scenario))
}

function writeScenario(host: Host, path: string | undefined, text: string | null): Failure | undefined {
  if (path === undefined || text === null) return undefined
  return tryToWrite(path, 'Check its folder and permissions.', () => writeFileSync(resolve(host.cwd, path), text))
}
