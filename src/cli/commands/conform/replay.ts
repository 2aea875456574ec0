import { setTimeout } from 'node:timers/promises'
import type { ResponseDifference } from '../../../conform/compare-responses.js'
import type { ReplayedExchange } from '../../../conform/replay.js'
import type { Context } from '../../command/context.js'
import { type Failure, usage } from '../../failure.js'
import { readTextFile } from '../../host/files.js'
import type { Paint } from '../../output/colour.js'
import type { Outcome } from '../../output/outcome.js'
import { plainLine } from '../../output/plain.js'
import { notReachable, offeredIn } from './offered.js'
import { indented, reasonLines } from './report.js'

/** The result of a replay. */
export interface ReplayReport {
  /** True if no exchange differs. */
  readonly ok: boolean
  readonly base_url: string
  readonly recording: { readonly base_url: string; readonly recorded_at: string }
  /** True if the replay was interrupted: exchanges are missing. */
  readonly interrupted: boolean
  readonly same: number
  readonly differs: number
  readonly not_replayable: number
  readonly items: readonly ReplayedExchange[]
}

type ReplayFlags = Parameters<typeof offeredIn>[2]

/** Plays a recording of `conform --record` against the chosen platform. */
export async function replayFile(context: Context, path: string, flags: ReplayFlags): Promise<Outcome<ReplayReport>> {
  const { host, output, settings } = context
  const file = await readTextFile(host, path)
  if (!file.ok) return file
  const { readRecording } = await import('../../../conform/recording.js')
  const recording = readRecording(file.text)
  if ('line' in recording) {
    const place = `${path === '-' ? 'Standard input' : path}:${recording.line}`
    return usage(
      `${place}: this line ${recording.cause}.`,
      'Record the session again with voucherctl conform --record.',
    )
  }
  const base = context.baseUrl()
  if (!base.ok) return base
  if (context.dryRun) return context.plan(`send the calls of ${recording.exchanges.length} exchanges to ${base.value}`)
  const refusal = await context.confirm({
    action: `Replaying a run on ${base.value}`,
    word: settings.profileName.value,
  })
  if (refusal !== undefined) return refusal
  const report = await replay(context, base.value, flags, recording)
  if ('code' in report) return report
  const exit = report.interrupted ? 130 : report.ok ? 0 : 1
  if (!output.isForPeople) return { ok: true, data: report, exit }
  output.say(linesOf(report, output.reportWidth, await output.paint()).join('\n'))
  return { ok: true, printed: true, exit }
}

type Recording = Parameters<typeof import('../../../conform/replay.js').replayRecording>[0]['recording']

async function replay(
  context: Context,
  base_url: string,
  flags: ReplayFlags,
  recording: Recording,
): Promise<ReplayReport | Failure> {
  const { replayRecording } = await import('../../../conform/replay.js')
  const { NotReachable } = await import('../../../conform/result.js')
  const { signal } = context.host
  const items: ReplayedExchange[] = []
  try {
    await replayRecording({
      ...(await offeredIn(context, base_url, flags)),
      recording,
      baseUrl: base_url,
      startedAt: Date.now(),
      now: () => performance.now(),
      pause: (ms) => setTimeout(ms, undefined, { signal }).catch(() => undefined),
      onResult: (it) => items.push(it),
    })
  } catch (error) {
    if (!(error instanceof NotReachable)) throw error
    return notReachable(context, base_url, error.message)
  }
  const count = (result: ReplayedExchange['result']) => items.filter((it) => it.result === result).length
  const differs = count('differs')
  const counts = { same: count('same'), differs, not_replayable: count('not_replayable') }
  const { base_url: recorded, recorded_at } = recording.header
  const source = { base_url: recorded, recorded_at }
  return { ok: differs === 0, base_url, recording: source, interrupted: signal.aborted, ...counts, items }
}

/** The report for people: each difference, then what was not replayed and why. */
function linesOf(report: ReplayReport, width: number, paint: Paint): string[] {
  const { ok, base_url, interrupted, same, differs, not_replayable, items } = report
  const mark = ok ? paint.done('✓') : paint.error('✗')
  const counts = `${same} same, ${differs} different, ${not_replayable} not replayable`
  return [
    ...items.filter((it) => it.result === 'differs').flatMap((it) => [...differenceLines(it, width, paint), '']),
    ...reasonLines(items, 'not_replayable', 'Not playable', width),
    `${mark} ${plainLine(base_url)}: ${counts}${interrupted ? ', interrupted' : ''}.`,
  ]
}

function differenceLines({ exchange, probe, request, differences }: ReplayedExchange, width: number, paint: Paint) {
  return [
    `${paint.error('✗')} ${paint.strong(`exchange ${exchange}`)} ${plainLine(probe)}`,
    ...indented(plainLine(request ?? ''), width),
    ...differences.flatMap((it) => indented(plainLine(inWords(it)), width, '', '  ')),
  ]
}

function inWords({ at, recorded, replayed }: ResponseDifference): string {
  const place = at === '' ? 'body' : at
  if (replayed === null) return `${place}: missing (recorded: ${recorded})`
  if (recorded === null) return `${place}: ${replayed}, not in the recording`
  return `${place}: ${replayed} instead of ${recorded}`
}
