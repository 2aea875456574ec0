import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { OutputOf } from '../../../contract/endpoint.js'
import { platformActivity } from '../../../contract/platform/activity.js'
import type { ReadRecord } from '../../../recorder/existing.js'
import { durationMs } from '../../../values/duration.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { installedSchema, schemaLine, writeSchema } from '../../command/new-file.js'
import { fail, suggested } from '../../failures/failure.js'
import { choice, matching, path, required, toggle } from '../../flags/flags.js'
import { checkWritable, tryToWrite } from '../../host/files.js'
import type { Outcome } from '../../output/outcome.js'

interface Recording {
  readonly file: string
  readonly steps: number
  /** Lines of the activity that became no step. */
  readonly left_out: readonly string[]
}

const SCHEMA = 'scenario.schema.json'
/** Limit of the calls that read earlier records after Ctrl-C. */
const READING_MS = 10_000

export const record = leaf({
  name: 'record',
  summary: 'Write what happens at a local server as a scenario',
  alsoCalls: { 'platform.recordScenario': '--from activity' },
  notes: [
    'It follows calls of all programs, deliveries, moves of the test clock and faults until --until, or until Ctrl-C. Ids, codes and credentials become variables, deliveries `receive`, records from before the recording steps that create them. What no step can repeat becomes a comment with its reason.',
    'The server sends a number for each secret, never its value. With --from activity the scenario has what the server still has in memory: start it with --inspect.',
  ],
  flags: {
    out: required(path('FILE', 'Scenario to write'), 'File of the scenario'),
    until: matching(
      'DURATION|CALL',
      'End after this time, or after a successful call such as vouchers.redeem',
      (it) => durationMs(it) !== undefined || /^[a-z]+\.[A-Za-z]+$/.test(it),
      'must be a duration such as 30s, or a call such as vouchers.redeem',
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
      `Wrote ${steps} step${steps === 1 ? '' : 's'} to ${file}${leftOut.length === 0 ? '' : `; ${leftOut.length} remark${leftOut.length === 1 ? '' : 's'} in its comments`}.`,
    members: [],
    key: 'file',
    next: ({ file }) => `Next: ${suggested`scenario run ${file}`}`,
  },
  run: async (context, { flags }): Promise<Outcome<Recording>> => {
    const { out, until, from, force } = flags
    if (!force && existsSync(resolve(context.host.cwd, out))) return exists(out)
    if (context.dryRun) return context.plan(`record the activity of the server to ${out}`)
    const unwritable = await checkWritable(context.host, out, { isPrivate: false })
    if (unwritable !== undefined) return unwritable
    const recorded =
      from === 'activity' && until === undefined
        ? await context.call(platformActivity.recordScenario, {})
        : await recordLive(context, until, from === 'activity')
    return 'data' in recorded ? writeRecording(context, out, force, recorded.data as Recorded) : recorded
  },
})

type Recorded = OutputOf<typeof platformActivity.recordScenario>

const exists = (out: string) =>
  fail('FILE_UNWRITABLE', `${out} exists and stays as it is.`, 'Name another file, or replace this one with --force.')

async function recordLive(context: Context, until: string | undefined, withStored: boolean) {
  const { takeLines } = await import('./take-lines.js')
  const taken = await takeLines(context, until, withStored)
  if (!taken.ok) return taken
  const { recordedScenario } = await import('../../../recorder/recorded-scenario.js')
  const signal = AbortSignal.timeout(READING_MS)
  const read: ReadRecord = async (endpoint, input) => {
    const result = await context.call(endpoint, input, { progress: 'Reading earlier records', signal })
    return result.ok ? result.data : undefined
  }
  const { parts, ...made } = await recordedScenario({ ...taken.value, read })
  return { ok: true, data: { ...made, text: parts?.join('') ?? null } } as const
}

async function writeRecording(
  { host }: Context,
  out: string,
  force: boolean,
  { text, steps, remarks }: Recorded,
): Promise<Outcome<Recording>> {
  if (text === null) {
    const why = remarks.length === 0 ? 'No call was recorded' : `No step was recorded: ${remarks[0]}`
    return fail(
      'INVALID_INPUT',
      `${why.replace(/\.$/, '')}.`,
      'Call the server while the recording runs. Nothing was written.',
    )
  }
  const target = resolve(host.cwd, out)
  const installed = installedSchema(host, dirname(target), SCHEMA)
  const { replaceFile } = await import('../../../files/replace-file.js')
  if (!force && existsSync(target)) return exists(out)
  const unwritable = tryToWrite(out, 'Check its folder and permissions.', () =>
    // The first line of the recording says where it runs.
    replaceFile(
      target,
      text.replace('\n', () => `\n${schemaLine(installed ?? SCHEMA)}`),
      {
        isPrivate: false,
        flush: false,
      },
    ),
  )
  if (unwritable !== undefined) return unwritable
  host.endsWith?.('SIGINT', 'SIGTERM')
  const failure = await writeSchema(host, installed === undefined ? join(dirname(out), SCHEMA) : undefined, SCHEMA)
  return { ok: true, data: { file: out, steps, left_out: remarks }, failure }
}
