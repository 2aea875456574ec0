import type { Start } from '../../../prove/process.js'
import { shellWord } from '../../../values/shell-word.js'
import { leaf } from '../../command/leaf.js'
import { fail, usage } from '../../failures/failure.js'
import { choice, duration, integer, listOf, matching, needing, text, toggle, type ValuesOf } from '../../flags/flags.js'
import { credentialVariables, webhookSecretVariable } from '../../host/secrets.js'
import { writeJunit } from '../../output/junit.js'
import { showLiveLine } from '../../output/live-line.js'
import type { Outcome } from '../../output/outcome.js'
import { linesOf, type ProvedByCommand, suitesOf } from '../../prove/lines.js'
import { readSeedFile, seedFlag } from '../../server/seed-file.js'

const BUDGET_MS = 60_000

const flags = {
  ...seedFlag,
  app: text('COMMAND', 'Program beside the action, started anew for each variant'),
  ready: matching('URL', 'Address of the app that responds with 2xx when it is ready', URL.canParse, 'must be a URL'),
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
    'Further variable, such as SHOP_URL={base_url}',
    (it) => /^[A-Za-z_]\w*=/.test(it),
    'must be NAME=TEXT',
  ),
  again: integer('N', 'Repeats of an action that was not done, default 1', 0, 100),
  patience: duration('Longest variant, default 5 times the undisturbed run and 30s', 1),
  budget: duration('Time for all variants, default 60s', 1),
  only: text('VARIANT', 'Only this variant'),
  list: toggle('List the variants without running them'),
  jobs: integer('N', 'Variants side by side, each with a server of its own, default 1', 1, 16),
  'fail-on': choice(['money', 'any'], 'Findings that fail the run, default any'),
  junit: text('FILE', 'Write a JUnit report'),
  scenario: text('FILE', "Write the platform's side of the first finding as a scenario"),
}
type ProveFlags = ValuesOf<typeof flags>

function isWebhook(value: string): boolean {
  const url = value.slice(value.indexOf('=') + 1)
  return (
    /^[^=]+=http:/.test(value) &&
    URL.canParse(url) &&
    ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)
  )
}

export const prove = leaf({
  name: 'prove',
  summary: 'Try whether a program redeems twice, loses a voucher or gives goods away',
  notes: [
    'COMMAND is one business action: one purchase, one till receipt, one import. Exit code 0 means done, another one not done. It finds a server in VOUCHERCTL_BASE_URL, VOUCHERCTL_TOKEN, VOUCHERCTL_TEMPLATE_ID, VOUCHERCTL_CODE (an issued voucher), VOUCHERCTL_RECIPIENT, VOUCHERCTL_BOT_TOKEN, VOUCHERCTL_CHAT_ID and VOUCHERCTL_WEBHOOK_SECRET. The server is in memory, and ends with the run.',
    'The command runs the action twice undisturbed, then once for each disturbance of each call, and compares what the program believes with what the platform has. Exit codes: 0 nothing found, 1 findings, 2 the program cannot be tried. The guide: `voucherctl help prove`.',
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
    if (flags.app !== undefined && flags.ready === undefined) {
      return usage('--app needs --ready URL, an address that responds with 2xx when the app is ready.')
    }
    const seed = flags.seed === undefined ? undefined : await readSeedFile(host, flags.seed)
    if (seed?.ok === false) return seed
    const unwritable = await writeJunit(host, flags.junit, [])
    if (unwritable !== undefined) return unwritable
    const [{ prove }, { commandOf }, { wordsOf }] = await Promise.all([
      import('../../../prove/prove.js'),
      import('../../../prove/process.js'),
      import('../../../prove/words.js'),
    ])
    const inherited = withoutCredentials(host.env)
    const start = (name: 'app' | 'state' | 'reset'): Start | undefined | false => {
      const line = flags[name]
      if (line === undefined) return undefined
      const words = flags.shell ? ['sh', '-c', line] : wordsOf(line)
      return words === undefined || words.length === 0 ? false : commandOf(words, host.cwd, inherited)
    }
    const [app, state, reset] = [start('app'), start('state'), start('reset')]
    if (app === false || state === false || reset === false) {
      return usage(
        'A quote is open in --app, --state or --reset.',
        'They are split into words as in a shell; --shell passes them to sh -c.',
      )
    }
    const [bot = '', url = ''] = flags.webhook?.split(/=(.*)/s) ?? []
    let progress = ''
    const endProgress = showLiveLine(context, (columns) => progress.slice(0, columns))
    const proved = await prove({
      action: commandOf([positional, ...rest], host.cwd, inherited),
      app: app && flags.ready !== undefined ? { start: app, ready: new URL(flags.ready) } : undefined,
      state,
      reset,
      seed: seed?.seed,
      webhook: flags.webhook === undefined ? undefined : { bot, url: new URL(url) },
      variables: Object.fromEntries(flags.env.map((it) => it.split(/=(.*)/s) as [string, string])),
      again: flags.again ?? 1,
      patienceMs: flags.patience,
      budgetMs: flags.budget ?? BUDGET_MS,
      only: flags.only,
      list: flags.list,
      jobs: flags.jobs ?? 1,
      records: flags.scenario !== undefined,
      signal: host.signal,
      onProgress: (done, total, id) => {
        progress = `${done} of ${total} variants  ${id}`
      },
    }).finally(endProgress)
    if (!proved.ok) return fail('NOTHING_PROVED', proved.message, proved.hint)
    if ('variants' in proved) {
      if (output.isForPeople) {
        output.say(proved.variants.join('\n'))
        return { ok: true, printed: true }
      }
      return { ok: true, data: { variants: proved.variants } }
    }
    const command = [positional, ...rest].map(shellWord).join(' ')
    const repeat = (only: string) => `voucherctl prove ${repeated(flags)}--only ${shellWord(only)} -- ${command}`
    const { findings, ...report } = proved.report
    const data: ProvedByCommand = {
      ...report,
      findings: findings.map(({ only, ...it }) => ({ ...it, repeat: repeat(only ?? `${it.variants[0]}`) })),
    }
    const failure = await writeJunit(host, flags.junit, suitesOf(data))
    const failing = findings.some((it) => flags['fail-on'] !== 'money' || it.weight === 'money')
    const outcome = { ok: true, exit: proved.interrupted ? 130 : failing ? 1 : 0, failure } as const
    if (!output.isForPeople) return { ...outcome, data }
    output.say(linesOf(data, output.reportWidth, await output.paint()).join('\n'))
    return { ...outcome, printed: true }
  },
})

/** The environment without credentials of other platforms, which a program under test must not use. */
function withoutCredentials(env: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const secret = new Set([...Object.values(credentialVariables), webhookSecretVariable])
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)))
}

/** The flags with which a finding is repeated. */
function repeated(flags: ProveFlags): string {
  const names = ['seed', 'app', 'ready', 'webhook', 'state', 'reset', 'env', 'again'] as const
  const words = names.flatMap((name) => [flags[name] ?? []].flat().map((it) => `--${name} ${shellWord(String(it))} `))
  return `${words.join('')}${flags.shell ? '--shell ' : ''}`
}
