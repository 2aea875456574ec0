import { endpoints } from '../../../contract/index.js'
import { type ActivityLine, platformActivity } from '../../../contract/platform/activity.js'
import { platformControls } from '../../../contract/platform/controls.js'
import { durationMs } from '../../../values/duration.js'
import type { Context, Ok } from '../../command/context.js'
import { collect, openStream, operatorTarget, untilBroken } from '../../command/stream-lines.js'
import { type Failure, usage } from '../../failures/failure.js'

/** Maximum length of followed lines: 10,000 calls of 3 KiB; the reference keeps 22 MiB (rules/cli.md#bounded-reads). */
const LENGTH_MAX = 32 * 1024 * 1024
/** Limit of reading again what the server left out, also after Ctrl-C. */
const READING_MS = 10_000

export interface Taken {
  /** Time of the server before the first line, if it is known. */
  readonly startedAt: string | undefined
  readonly lines: readonly ActivityLine[]
  /** Says why the recording ended before the user ended it. */
  readonly ending: string | undefined
}

type Open = (signal: AbortSignal, given: { follow: boolean; bodies: boolean }) => ReturnType<typeof openLines>

const openLines = (
  { host, settings }: Context,
  target: { readonly baseUrl: string; readonly token: string },
  signal: AbortSignal,
  { follow, bodies }: { readonly follow: boolean; readonly bodies: boolean },
) => {
  const input = { follow: follow ? 'true' : 'false', bodies: bodies ? 'true' : 'false', names: 'true' } as const
  return openStream({ settings, host: { ...host, signal } }, target, platformActivity.activity, input)
}

/** Takes lines of the activity until Ctrl-C, `until`, or the end of the server. */
export async function takeLines(
  context: Context,
  until: string | undefined,
  withStored: boolean,
): Promise<Ok<Taken> | Failure> {
  const { host, output } = context
  if (until !== undefined && durationMs(until) === undefined && !endpoints.some(({ id }) => id === until))
    return usage(`There is no call "${until}".`, 'See `voucherctl api routes`.')
  const target = await operatorTarget(context)
  if (!target.ok) return target
  const open: Open = (signal, given) => openLines(context, target.value, signal, given)
  const startedAt = withStored ? undefined : await serverTime(context)
  const lines = new Map<number, ActivityLine>()
  const stored = await open(host.signal, { follow: false, bodies: withStored })
  if (!stored.ok) return stored
  const past = await collect(untilBroken(stored.value, host.signal))
  if (!past.ok) return past
  const last = past.value.at(-1)?.seq ?? -1
  if (withStored) for (const it of past.value) lines.set(it.seq, it)
  const tell = () =>
    output.notice(
      `Recording ${target.value.baseUrl}.${until === undefined ? ' Ctrl-C ends it and writes the file.' : ''}`,
    )
  const followed = await follow(open, tell, host.signal, until, last, lines)
  if (!followed.ok) return followed
  const { value: ending } = followed
  if (ending !== undefined) output.warn(`${ending} What happened after that is not recorded.`)
  return { ok: true, value: { startedAt, lines: [...lines.values()].sort((a, b) => a.seq - b.seq), ending } }
}

async function serverTime(context: Context): Promise<string> {
  const clock = await context.call(platformControls.getClock, {})
  return clock.ok ? clock.data.now : new Date(context.host.now()).toISOString()
}

/** True for a later line. The one that ends the stored lines tells nothing. */
const isAfter = ({ seq, kind }: ActivityLine, last: number) => seq > last && kind !== 'live'

/** Adds the lines after `last`. Returns why they ended, unless the user ended them. */
async function follow(
  open: Open,
  tell: () => void,
  interruption: AbortSignal,
  until: string | undefined,
  last: number,
  lines: Map<number, ActivityLine>,
): Promise<Ok<string | undefined> | Failure> {
  const ms = until === undefined ? undefined : durationMs(until)
  const ended = new AbortController()
  const signal = AbortSignal.any([interruption, ended.signal])
  const opened = await open(signal, { follow: true, bodies: true })
  if (!opened.ok) return opened
  tell()
  const timer = ms === undefined ? undefined : setTimeout(() => ended.abort(), ms)
  let length = 0
  for await (const line of untilBroken(opened.value, signal)) {
    length += JSON.stringify(line).length
    if (isAfter(line, last)) lines.set(line.seq, line)
    if (line.kind === 'request' && line.request.endpoint === until && line.request.code === null) ended.abort()
    if (ended.signal.aborted || length > LENGTH_MAX) break
  }
  clearTimeout(timer)
  const ending = signal.aborted ? undefined : endingOf(length)
  // Live lines lack what the server had no time for in a burst; it still has most of it.
  const limit = AbortSignal.timeout(READING_MS)
  const again = await open(limit, { follow: false, bodies: true })
  if (!again.ok) return { ok: true, value: ending }
  for await (const line of untilBroken(again.value, limit)) {
    const isBetter = !lines.has(line.seq) || ('exchange' in line && line.exchange !== null)
    if (line.seq > last && isBetter) lines.set(line.seq, line)
  }
  return { ok: true, value: ending }
}

const endingOf = (length: number) =>
  length > LENGTH_MAX ? 'The recording reached 32 MiB and ended here.' : 'The server ended the recording here.'
