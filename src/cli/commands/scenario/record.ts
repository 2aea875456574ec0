import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { endpoints } from '../../../contract/index.js'
import { type ActivityLine, platformActivity } from '../../../contract/platform/activity.js'
import { platformControls } from '../../../contract/platform/controls.js'
import { durationMs } from '../../../contract/values/duration.js'
import { codeOf } from '../../../files/error-code.js'
import type { Context, Ok } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { installedSchema, schemaLine, writeSchema } from '../../command/new-file.js'
import { openStream, untilBroken } from '../../command/stream-lines.js'
import { type Failure, fail, suggested } from '../../failures/failure.js'
import { choice, matching, path, required, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'

interface Recording {
  readonly file: string
  readonly steps: number
  /** Lines of the activity that became no step. */
  readonly left_out: readonly string[]
}

const SCHEMA = 'scenario.schema.json'
/** Limit of the calls that read existing records after Ctrl-C. */
const READING_MS = 10_000

const isEndpoint = (text: string) => endpoints.some(({ id }) => id === text)

export const record = leaf({
  name: 'record',
  summary: 'Write what happens at a local server as a scenario',
  notes: [
    'It follows calls of all programs, deliveries, moves of the test clock and faults until Ctrl-C or --until. Ids, codes and credentials become variables, deliveries `receive`, records from before the recording steps that create them. What no step can repeat becomes a comment with its reason.',
    'The server sends a number for each secret, never its value. With --from activity the scenario begins with what the server still has in memory: start it with --inspect.',
  ],
  flags: {
    out: required(path('FILE', 'Scenario to write'), 'File of the scenario'),
    until: matching(
      'DURATION|CALL',
      'End after this time, or after a successful call such as vouchers.redeem',
      (it) => durationMs(it) !== undefined || isEndpoint(it),
      'must be a duration such as 30s, or a call of `voucherctl api routes`',
    ),
    from: choice(['activity'], 'Begin with the activity that the server has'),
    force: toggle('Replace the file of --out'),
  },
  examples: [
    { command: 'voucherctl scenario record --out session.yaml', comment: 'Until Ctrl-C' },
    { command: 'voucherctl scenario record --out session.yaml --from activity' },
    { command: 'voucherctl scenario record --out redeem.yaml --until vouchers.redeem' },
  ],
  changes: true,
  view: {
    headline: ({ file, steps, left_out: leftOut }: Recording) =>
      `Wrote ${steps} step${steps === 1 ? '' : 's'} to ${file}${leftOut.length === 0 ? '' : `; ${leftOut.length} remarks in its comments`}.`,
    members: [],
    key: 'file',
    next: ({ file }) => `Next: ${suggested`scenario run ${file}`}`,
  },
  run: async (context, { flags }): Promise<Outcome<Recording>> => {
    const { out, until, from, force } = flags
    if (!force && existsSync(resolve(context.host.cwd, out))) return exists(out)
    if (context.dryRun) return context.plan(`record the activity of the server to ${out}`)
    const taken = await takeLines(context, until, from === 'activity')
    return taken.ok ? writeRecording(context, out, force, taken.value) : taken
  },
})

const exists = (out: string) =>
  fail('FILE_UNWRITABLE', `${out} exists and stays as it is.`, 'Name another file, or replace this one with --force.')

interface Taken {
  readonly startedAt: string
  readonly lines: readonly ActivityLine[]
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
async function takeLines(
  context: Context,
  until: string | undefined,
  withStored: boolean,
): Promise<Ok<Taken> | Failure> {
  const { host, output } = context
  const base = context.baseUrl()
  if (!base.ok) return base
  const credential = await context.credential('operator', base.value)
  if (!credential.ok) return credential
  const target = { baseUrl: base.value, token: credential.value }
  const open: Open = (signal, given) => openLines(context, target, signal, given)
  const clock = await context.call(platformControls.getClock, {})
  const startedAt = clock.ok ? clock.data.now : new Date(host.now()).toISOString()
  const lines = new Map<number, ActivityLine>()
  const stored = await open(host.signal, { follow: false, bodies: withStored })
  if (!stored.ok) return stored
  let last = -1
  for await (const line of untilBroken(stored.value, host.signal)) {
    last = line.seq
    if (withStored) lines.set(line.seq, line)
  }
  if (withStored && until === undefined) return { ok: true, value: { startedAt, lines: [...lines.values()] } }
  const tell = () =>
    output.notice(`Recording ${base.value}.${until === undefined ? ' Ctrl-C ends it and writes the file.' : ''}`)
  const failure = await follow(open, tell, host.signal, until, last, lines)
  return failure ?? { ok: true, value: { startedAt, lines: [...lines.values()].sort((a, b) => a.seq - b.seq) } }
}

/** Adds the lines after `last`. */
async function follow(
  open: Open,
  tell: () => void,
  interruption: AbortSignal,
  until: string | undefined,
  last: number,
  lines: Map<number, ActivityLine>,
): Promise<Failure | undefined> {
  const ms = until === undefined ? undefined : durationMs(until)
  const ended = new AbortController()
  const signal = AbortSignal.any([interruption, ended.signal])
  const opened = await open(signal, { follow: true, bodies: true })
  if (!opened.ok) return opened
  tell()
  const timer = ms === undefined ? undefined : setTimeout(() => ended.abort(), ms)
  for await (const line of untilBroken(opened.value, signal)) {
    if (line.seq > last) lines.set(line.seq, line)
    if (line.kind === 'request' && line.request.endpoint === until && line.request.code === null) ended.abort()
    if (ended.signal.aborted) break
  }
  clearTimeout(timer)
  // Live lines lack what the server had no time for in a burst; it still has most of it.
  const limit = AbortSignal.timeout(READING_MS)
  const again = await open(limit, { follow: false, bodies: true })
  if (!again.ok) return undefined
  for await (const line of untilBroken(again.value, limit)) {
    const isBetter = !lines.has(line.seq) || ('exchange' in line && line.exchange !== null)
    if (line.seq > last && isBetter) lines.set(line.seq, line)
  }
  return undefined
}

async function writeRecording(
  context: Context,
  out: string,
  force: boolean,
  { startedAt, lines }: Taken,
): Promise<Outcome<Recording>> {
  const { host } = context
  const { recordedScenario } = await import('./recorder/recorded-scenario.js')
  const read = (ids: readonly string[]) =>
    import('./recorder/existing.js').then(({ readExisting }) =>
      readExisting(context, ids, AbortSignal.timeout(READING_MS)),
    )
  const folder = dirname(resolve(host.cwd, out))
  const installed = installedSchema(host, folder, SCHEMA)
  const made = await recordedScenario({ lines, startedAt, file: out, read })
  if (made.steps === 0) {
    const why = made.remarks.length === 0 ? 'No call was recorded' : `No step was recorded: ${made.remarks[0]}`
    return fail(
      'INVALID_INPUT',
      `${why.replace(/\.$/, '')}.`,
      'Call the server while the recording runs. Nothing was written.',
    )
  }
  try {
    const { replaceFile } = await import('../../../files/replace-file.js')
    if (!force && existsSync(resolve(host.cwd, out))) return exists(out)
    replaceFile(resolve(host.cwd, out), schemaLine(installed ?? SCHEMA) + made.text, { isPrivate: false, flush: false })
  } catch (error) {
    return fail('FILE_UNWRITABLE', `${out} cannot be written (${codeOf(error)}).`, 'Check its folder and permissions.')
  }
  const failure = await writeSchema(host, installed === undefined ? join(dirname(out), SCHEMA) : undefined, SCHEMA)
  return { ok: true, data: { file: out, steps: made.steps, left_out: made.remarks }, failure }
}
