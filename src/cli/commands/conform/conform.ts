import type { WebhookReceiver } from '../../../conform/receiver.js'
import { codeOf } from '../../../files/error-code.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type ConformReport, linesOf, suitesOf } from '../../conform/report.js'
import { openResults } from '../../conform/results-file.js'
import { type ChosenProbes, chooseProbes, runConform, STORE_EACH } from '../../conform/run.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import {
  at,
  choice,
  duration,
  integer,
  list,
  matching,
  needing,
  text,
  toggle,
  type ValuesOf,
} from '../../flags/flags.js'
import { credentialNames, credentialVariables } from '../../host/secrets.js'
import { writeJunit } from '../../output/junit.js'
import type { Outcome } from '../../output/outcome.js'

const flags = {
  only: list('NAME,…', 'Only these groups, rules or probes'),
  'read-only': toggle('Only probes that can change nothing'),
  template: at('template_id', text('ID', 'Active template to issue from')),
  bot: at('bot_id', text('ID', 'Bot without a webhook, linked to the application of the template')),
  chat: at('chat_id', text('ID', 'Private chat of that bot')),
  'webhook-url': matching('URL', 'Where the platform finds the receiver of this run', URL.canParse, 'must be a URL'),
  'webhook-port': needing(
    integer('N', 'Port of the receiver, default the port of a --webhook-url on this machine', 1, 65_535),
    'webhook-url',
  ),
  quota: integer('N', 'Vouchers that may be issued, default 100', 0, 1_000_000),
  'max-wait': duration('Longest wait for the platform, default 10s'),
  rate: integer('N', 'Calls a second at most, default 10, on this machine 200', 1, 1_000),
  'fail-on': choice(['specified', 'any'], 'Differences that fail the run, default any'),
  'allow-skips': toggle('Succeed although probes were skipped for lack of a credential'),
  junit: text('FILE', 'Write a JUnit report'),
  out: text('FILE', 'Append each result to a file, for --resume'),
  resume: needing(toggle('Continue an earlier run'), 'out'),
}
type ConformFlags = ValuesOf<typeof flags>

export const conform = leaf({
  name: 'conform',
  summary: 'Test whether a platform behaves like the reference, rule by rule',
  notes: [
    'Each probe observes one statement of the rules, and says: it holds, it differs (what was expected and observed, and the request as curl), it is not applicable and why, or it was not tested and why. Exit code 1 for a difference from what the interface specifies, 12 for differences from decisions only, 9 or 2 if probes were not tested, 4 for a credential that is missing or refused.',
    'Credentials come from the profile or the environment: an application token, an account JWT, a bot token. The names of all records that it creates begin with conform-; the report lists those that it could not remove. The rules: `voucherctl help rules`.',
  ],
  flags,
  examples: [
    'voucherctl conform --template tpl_01JC… --base-url https://staging.example',
    { command: 'voucherctl conform --read-only --profile production', comment: 'Changes nothing' },
    'voucherctl conform --only lists,idempotency-keys --junit report.xml',
    { command: 'voucherctl conform --fail-on specified --allow-skips', comment: 'In CI' },
    { command: 'voucherctl conform --out results.ndjson --resume', comment: 'After an interruption' },
  ],
  changes: true,
  run: async (context, { flags }): Promise<Outcome<ConformReport>> => {
    const { host, settings } = context
    const chosen = await chooseProbes(context, flags.only)
    if (!chosen.ok) return chosen
    const { probes } = chosen
    const base = context.baseUrl()
    if (!base.ok) return base
    if (context.dryRun) return context.plan(`send the calls of ${probes.length} probes to ${base.value}`)
    const { profileName } = settings
    const question = { action: `Testing ${base.value}`, word: profileName.value }
    const refusal = flags['read-only'] ? undefined : await context.confirm(question)
    if (refusal !== undefined) return refusal
    const file = flags.out === undefined ? undefined : await openResults(host, flags.out, base.value, flags.resume)
    if (file?.ok === false) return file
    const unwritable = await writeJunit(host, flags.junit, [])
    if (unwritable !== undefined) return unwritable
    const receiver = await openReceiver(flags)
    if (receiver !== undefined && 'code' in receiver) return receiver
    try {
      const report = await runConform(context, base.value, chosen, { ...flags, file, receiver })
      if ('code' in report) return report
      return await finish(context, report, probes, flags)
    } finally {
      await receiver?.close()
    }
  },
})

async function finish(context: Context, report: ConformReport, probes: ChosenProbes['probes'], flags: ConformFlags) {
  const { host, output } = context
  const unwritten = await writeJunit(host, flags.junit, suitesOf(report))
  const exit = exitOf(report, flags['fail-on'])
  const untested = report.interrupted ? undefined : untestedIn(report)
  const skips = flags['allow-skips'] || report.interrupted ? undefined : skippedFor(report, probes, flags)
  const failure = unwritten ?? (exit === 1 ? undefined : untested) ?? (exit === 0 ? skips : undefined)
  if (output.isForPeople) {
    output.say(linesOf(report, output.reportWidth, await output.paint()).join('\n'))
    if (report.interrupted && flags.out !== undefined) {
      output.notice('Repeat the command with --resume to test the rest.')
    }
  }
  for (const it of [untested, skips]) {
    if (it !== undefined && failure !== it) output.notice(`${it.message} ${it.hint}`)
  }
  const outcome = { ok: true, exit, failure } as const
  return output.isForPeople ? { ...outcome, printed: true as const } : { ...outcome, data: report }
}

function exitOf(report: ConformReport, failOn: ConformFlags['fail-on']): number {
  if (report.interrupted) return 130
  const bases = report.items.flatMap(({ result, basis }) => (result === 'differs' ? [basis] : []))
  if (report.failed > 0 || bases.some((it) => it !== 'decided')) return 1
  return bases.length > 0 && failOn !== 'specified' ? 12 : 0
}

/** The failure of a run that could not test some probes; undefined if it tested all that apply. */
function untestedIn({ items, not_reachable, not_usable, refused, reasons }: ConformReport): Failure | undefined {
  if (not_usable > 0) {
    const causes = reasons.filter((it) => it.result === 'not_usable').map((it) => it.reason)
    const message = `${not_usable} of ${items.length} probes were not tested: ${causes.join(' ')}`
    if (refused.length > 0) return fail('PROBES_SKIPPED', message, STORE_EACH)
    const hint = 'Offer another: `voucherctl bots list` shows bots; without --template the run makes its own.'
    return fail('OFFER_UNUSABLE', message, hint)
  }
  if (not_reachable === 0) return undefined
  const message = `${not_reachable} of ${items.length} probes were not tested: the platform was not reachable.`
  const hint = 'See that it runs, and repeat the command: with --out FILE, --resume tests only the rest.'
  return fail('PROBES_UNTESTED', message, `${hint} A longer --max-wait waits for its Retry-After.`)
}

/** The failure of a run that skipped probes because a credential is missing; undefined if none was skipped. */
function skippedFor(
  { items, lacking }: ConformReport,
  probes: ChosenProbes['probes'],
  flags: ConformFlags,
): Failure | undefined {
  const skipped = new Set(items.filter((it) => it.result === 'not_applicable').map((it) => it.probe))
  const possible = probes.filter((it) => skipped.has(it.id) && (it.reads || !flags['read-only']))
  const missing = lacking.filter((kind) => possible.some((it) => it.needs.includes(kind)))
  if (missing.length === 0) return undefined
  const count = possible.filter((it) => missing.some((kind) => it.needs.includes(kind))).length
  const names = missing.map((kind) => `${credentialNames[kind]} (${credentialVariables[kind]})`)
  const message = `${count} probes were skipped for lack of a credential: ${names.join(', ')}.`
  return fail('PROBES_SKIPPED', message, `${STORE_EACH} Or skip them with --allow-skips.`)
}

/** Opens the receiver that --webhook-url names; undefined without the flag. */
async function openReceiver(flags: ConformFlags): Promise<WebhookReceiver | Failure | undefined> {
  const { 'webhook-url': url, 'webhook-port': typedPort } = flags
  if (url === undefined) return undefined
  const { hostname, port: ownPort } = new URL(url)
  const port = typedPort ?? (isLoopbackHost(hostname) && ownPort !== '' ? Number(ownPort) : undefined)
  if (port === undefined) {
    return usage('--webhook-url on another machine needs --webhook-port N, the port to which it forwards deliveries.')
  }
  const { WebhookReceiver } = await import('../../../conform/receiver.js')
  try {
    return await WebhookReceiver.listen(port, url)
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE' && codeOf(error) !== 'EACCES') throw error
    return fail(codeOf(error) as 'EADDRINUSE', `Port ${port} cannot be used.`, 'Name another with --webhook-port N.')
  }
}
