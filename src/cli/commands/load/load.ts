import { randomInt } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { parseBaseUrl } from '../../../client/base-url.js'
import { pause } from '../../../files/pause.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { at, choice, duration, integer, list, listOf, required, text, type ValuesOf } from '../../flags/flags.js'
import { adviceOf } from '../../load/advice.js'
import { assertFlag } from '../../load/assertions.js'
import { type Mix, mixFlag, operations } from '../../load/mix.js'
import type { LoadClock } from '../../load/open-loop.js'
import type { LoadReport } from '../../load/report.js'
import { headlineOf, linesOf } from '../../load/report-lines.js'
import { callCount, type Schedule, shapes, totalsOf } from '../../load/schedule.js'
import { runLoad } from '../../load/start.js'
import { openTargets } from '../../load/targets.js'
import type { Outcome } from '../../output/outcome.js'
import { numberText } from '../../output/text.js'

const RATE = 10
const RATE_MAX = 100_000
const DURATION_MS = 30_000
const CALLS_MAX = 10_000_000
const CONNECTIONS = 64
const CONNECTIONS_MAX = 1_024
const MIX: Mix = { issue: 30, verify: 50, redeem: 20 }
const RECIPIENT = 'load-user'
/** Calls per second that a production profile allows without --yes. */
const PRODUCTION_RATE_MAX = 10

const monotonicClock: LoadClock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => (ms <= 0 ? setImmediate() : pause(Math.ceil(ms), signal)),
}

/** True for a text that the client accepts as a base URL. */
function isBaseUrl(text: string): boolean {
  try {
    parseBaseUrl(text)
    return true
  } catch {
    return false
  }
}

const flags = {
  template: required(at('template_id', text('ID', 'Active template to issue from, tpl_…')), 'Template id'),
  rate: integer('N', `Calls a second at the highest point, default ${RATE}`, 1, RATE_MAX),
  duration: duration('Length of the run, default 30s', 1),
  mix: mixFlag('Share of each operation in percent, default issue=30,verify=50,redeem=20'),
  shape: choice(shapes, 'How the rate develops, default steady'),
  address: listOf(
    'URL',
    'Further address of the same platform, called in turn',
    isBaseUrl,
    'must be an http or https URL',
  ),
  connections: integer('N', `Connections to each address, default ${CONNECTIONS}`, 1, CONNECTIONS_MAX),
  warmup: duration('First part of the run that is not counted, default 0s'),
  assert: assertFlag('Exit with 1 unless this holds, such as p99<50ms,errors<0.1%'),
  recipient: list('ID', `User to whom vouchers are issued, in turn; default ${RECIPIENT}`),
  seed: integer('N', 'Repeat the order of operations of another run', 0, 2 ** 32 - 1),
}
type LoadFlags = ValuesOf<typeof flags>

export const load = leaf({
  name: 'load',
  summary: 'Send calls at a rate and measure latencies, by percentile',
  notes: [
    'Each call starts when it is due, even if earlier calls have no response yet, and its latency counts from then on. Shapes: steady; ramp, from 0 to --rate; spike, a fifth of --rate, and all of it in the middle fifth of the run.',
    'The run issues vouchers of the template and redeems some; no call removes them. --assert takes p50, p90, p95, p99, p999, mean, max, errors and rate, also of one operation: verify.p99<20ms. `voucherctl help load-tests` is the guide.',
  ],
  flags,
  examples: [
    'voucherctl load --template tpl_01JC… --rate 200 --duration 1m',
    "voucherctl load --template tpl_01JC… --mix verify=100 --assert 'p99<50ms,errors<0.1%'",
    {
      command: 'voucherctl load --template tpl_01JC… --base-url http://127.0.0.1:8420 --address http://127.0.0.1:8421',
      comment: 'Two servers of one database',
    },
  ],
  changes: true,
  view: {
    headline: headlineOf,
    isGood: (it: LoadReport) => it.ok && it.all.failed === 0,
    drawing: (it: LoadReport, { paint }) => linesOf(it, paint).join('\n'),
    next: adviceOf,
  },
  run: async (context, { flags }): Promise<Outcome<LoadReport>> => {
    const base = context.baseUrl()
    if (!base.ok) return base
    const addresses = [...new Set([base.value, ...flags.address])]
    const schedule = scheduleOf(flags)
    const problem = refuseFlags(flags, schedule)
    if (problem !== undefined) return problem
    const what = `Sending up to ${schedule.rate} calls a second to ${addresses.join(', ')}`
    if (context.dryRun) return context.plan(planOf(schedule, addresses))
    const refusal = await confirmLoad(context, schedule.rate, what)
    if (refusal !== undefined) return refusal
    const { idOf } = await import('../../command/names.js')
    const template = await idOf(context, 'template_id', flags.template)
    if (!template.ok) return template
    const connections = flags.connections ?? CONNECTIONS
    const opened = await openTargets(context, addresses, connections)
    if (!opened.ok) return opened
    try {
      return await runLoad(
        context,
        { addresses, assertions: flags.assert },
        {
          targets: opened.targets,
          connections,
          schedule,
          warmupMs: flags.warmup ?? 0,
          template: template.value,
          recipients: flags.recipient.length === 0 ? [RECIPIENT] : flags.recipient,
          runId: context.host.newId(),
          timeoutMs: context.settings.timeoutMs.value,
          clock: monotonicClock,
          signal: context.host.signal,
        },
      )
    } finally {
      await Promise.all(opened.targets.map((it) => it.close()))
    }
  },
})

const scheduleOf = ({
  rate = RATE,
  duration = DURATION_MS,
  mix = MIX,
  shape = 'steady',
  seed,
}: LoadFlags): Schedule => ({
  shape,
  rate,
  durationMs: duration,
  mix,
  seed: seed ?? randomInt(2 ** 32),
})

function refuseFlags({ warmup = 0, assert }: LoadFlags, schedule: Schedule): Failure | undefined {
  const { durationMs, mix } = schedule
  if (warmup >= durationMs) return usage('--warmup must be shorter than --duration, because it is a part of the run.')
  const calls = callCount(schedule)
  if (calls > CALLS_MAX) {
    return usage(
      `These are ${numberText(calls)} calls; a run has at most ${numberText(CALLS_MAX)}.`,
      'Lower --rate or --duration.',
    )
  }
  const absent = assert.find(({ operation }) => operation !== undefined && mix[operation] === 0)
  if (absent !== undefined) return usage(`--assert ${absent.text} needs ${absent.operation} calls, and --mix has none.`)
  return undefined
}

/** Asks for confirmation on a production profile, and requires --yes above the rate of a manual test. */
async function confirmLoad(context: Context, rate: number, action: string): Promise<Failure | undefined> {
  const { production, profileName } = context.settings
  if (production.value && rate > PRODUCTION_RATE_MAX && !context.globals.yes) {
    return fail(
      'CONFIRMATION_REQUIRED',
      `More than ${PRODUCTION_RATE_MAX} calls a second to a production server need --yes.`,
      `To go on: \`${context.line} --yes\``,
    )
  }
  return context.confirm({ action, word: profileName.value })
}

function planOf(schedule: Schedule, addresses: readonly string[]): string {
  const { calls, ahead } = totalsOf(schedule)
  const shares = operations.filter((it) => calls[it] > 0).map((it) => `${numberText(calls[it])} ${it}`)
  const seconds = schedule.durationMs / 1000
  return `issue ${numberText(ahead)} ${ahead === 1 ? 'voucher' : 'vouchers'} ahead, then send ${shares.join(', ')} calls in ${seconds} s to ${addresses.join(', ')}`
}
