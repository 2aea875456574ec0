import { isUtf8 } from 'node:buffer'
import { faultOfHeaders } from '../../../contract/platform/fault-kinds.js'
import { updateTypes } from '../../../contract/updates.js'
import { didYouMean } from '../../../values/closest.js'
import { parseJson } from '../../../values/json.js'
import { rightRefusal } from '../../../webhook/explain.js'
import { pairsOf, updateIdOf } from '../../../workbench/header-pairs.js'
import { clearInbox, type DeliverySummary, type InboxVerdict, type StoredDelivery } from '../../../workbench/inbox.js'
import type { Context } from '../../command/context.js'
import { type Group, leaf } from '../../command/leaf.js'
import { inboxDirOf } from '../../config/local-server.js'
import { type Failure, suggested, usage } from '../../failures/failure.js'
import { choice, integer, text, toggle, type ValuesOf } from '../../flags/flags.js'
import { type Moment, moment } from '../../flags/time.js'
import type { Times } from '../../output/screen.js'
import { plain, plainLine, withTimes } from '../../output/text.js'
import { inboxFailure, inboxFlag, missingInbox, type OpenedInbox, openInbox, recordedDelivery } from './inbox-dir.js'

const LIST_DEFAULT = 20
const LIST_MAX = 10_000

export const sinceFlag = moment('From this date or time on, or this long ago, such as 10m', (it) => it)

/** Converts the value of a time flag to milliseconds since 1970. */
export function timeOf({ host }: Context, time: Moment | undefined): number | undefined {
  if (time === undefined) return undefined
  return 'instant' in time ? Date.parse(time.instant) : host.now() - time.agoMs
}

const isoOf = (at: number) => new Date(at).toISOString()

const listFlags = {
  ...inboxFlag,
  type: text('TYPE', 'Only updates of this type'),
  verdict: choice(['ok', 'duplicate', 'refused', 'all'], 'Only these, default ok and duplicate'),
  failed: toggle('Only those that the application failed'),
  since: sinceFlag,
  limit: integer('N', `Number of newest deliveries, default ${LIST_DEFAULT}`, 1, LIST_MAX),
}
type ListFlags = ValuesOf<typeof listFlags>

const list = leaf({
  name: 'list',
  summary: 'Deliveries that were recorded, the newest last',
  notes: [
    'Refused deliveries are kept apart and listed only with --verdict refused or --verdict all: anybody who reaches the port can send them, so their file restarts after 1,000 deliveries or 16 MiB.',
    'failed is what the application has never responded to with 2xx; what a running listener still waits for is listed too.',
    'A line that does not parse is reported on stderr and skipped; the exit code is then 11.',
  ],
  flags: listFlags,
  examples: [
    'voucherctl webhook inbox list --failed',
    'voucherctl webhook inbox list --type message --since 10m --json',
  ],
  view: { members: ['id', 'time', 'verdict', 'reason', 'type', 'update_id', 'status', 'fault'] },
  run: async (context, { flags }) => {
    const { type, verdict, failed } = flags
    const opened = openInbox(context, flags.inbox)
    if (!opened.ok) return opened
    const { inbox, exit } = opened
    const mistyped = type === undefined ? undefined : mistypedType(type, opened)
    if (mistyped !== undefined) return mistyped
    const since = timeOf(context, flags.since)
    const found = inbox.find({ type, verdicts: verdictsOf(verdict), failed, since }, flags.limit ?? LIST_DEFAULT)
    if (found.length > 0) return { ok: true, data: { items: found.map(summaryOf) }, exit }
    await context.output.print({ items: [] }, { body: () => context.output.local(nothingFound(flags, since, opened)) })
    return { ok: true, printed: true, exit }
  },
})

const verdictsOf = (verdict: InboxVerdict | 'all' | undefined): readonly InboxVerdict[] => {
  if (verdict === undefined) return ['ok', 'duplicate']
  return verdict === 'all' ? ['ok', 'duplicate', 'refused'] : [verdict]
}

/** Refuses an update type that neither the platform defines nor any recorded delivery has. */
function mistypedType(type: string, { inbox, dir }: OpenedInbox): Failure | undefined {
  if (updateTypes.some((it) => it === type) || inbox.find({ type }, 1).length > 0) return undefined
  const hint = didYouMean(type, updateTypes, `Known are ${updateTypes.join(', ')}.`)
  return usage(`No update has the type ${type}, and no delivery in ${dir} has it.`, hint)
}

/** Message for an empty list: names the filter, and what else the inbox contains. */
function nothingFound({ type, verdict, failed }: ListFlags, since: number | undefined, opened: OpenedInbox): string {
  const { inbox, dir } = opened
  if (inbox.count === 0) return `Nothing to show: the inbox ${dir} is empty.`
  const searched = inbox.find({ verdicts: verdictsOf(verdict) }).length
  const filters = [
    ...(type === undefined ? [] : [`--type ${type}`]),
    ...(verdict === undefined ? [] : [`--verdict ${verdict}`]),
    ...(failed ? ['--failed'] : []),
    ...(since === undefined ? [] : [`--since ${isoOf(since)}`]),
  ]
  const apart = verdict === undefined ? inbox.count - searched : 0
  return [
    searched === 0
      ? `Nothing to show: no delivery in ${dir} is ${verdict ?? 'verified'}.`
      : `Nothing to show: ${dir} holds ${searched} ${searched === 1 ? 'delivery' : 'deliveries'}; none matches ${filters.join(' ')}.`,
    ...(apart === 0 ? [] : [`${apart} refused: see them with --verdict refused.`]),
  ].join(' ')
}

function summaryOf({ id, at, verdict, reason, type, update_id, status, body_bytes, fault }: DeliverySummary) {
  return {
    id,
    time: isoOf(at),
    verdict,
    reason,
    type,
    update_id: updateIdOf(update_id),
    // The listener responds to refused deliveries with 401 and does not record those responses.
    status: status ?? (verdict === 'refused' ? 401 : null),
    bytes: body_bytes,
    ...(fault && { fault }),
  }
}

function detailOf({ id, at, verdict, reason, update_id, type, method, url, headers, body, responses }: StoredDelivery) {
  return {
    id,
    time: isoOf(at),
    verdict,
    reason,
    update_id: updateIdOf(update_id),
    type,
    ...faultOfHeaders(pairsOf(headers)),
    method,
    url,
    headers: pairsOf(headers),
    body: parsed(body) ?? null,
    body_base64: body.toString('base64'),
    responses: responses.map((line) => ({
      time: isoOf(line.at),
      status: line.status,
      duration_ms: line.duration_ms,
      to: line.to,
      error: line.error,
      replay: line.replay,
      headers: pairsOf(line.headers),
      body: parsed(line.body) ?? null,
      body_base64: line.body.toString('base64'),
      body_bytes: line.body_bytes,
    })),
  }
}

const parsed = (body: Buffer): unknown => parseJson(body.toString('utf8'))

function pageOf(stored: StoredDelivery, { zone }: Times): string {
  const { id, at, verdict, reason, method, url, headers, body, responses } = stored
  const json = parsed(body) ?? null
  const refused = rightRefusal(faultOfHeaders(pairsOf(headers)).fault) ?? 'The listener responded with 401.'
  return [
    `${id}  ${withTimes(isoOf(at), zone)}  ${verdict}${reason === null ? '' : ` (${reason})`}`,
    '',
    plainLine(`${method} ${url}`),
    ...headerLines(headers),
    '',
    plain(json === null ? body.toString('utf8') : JSON.stringify(json, null, 2)),
    '',
    ...responses.flatMap((it) => responseLines(it, zone)),
    ...(responses.length === 0 ? [verdict === 'refused' ? refused : 'No response was recorded.'] : []),
  ].join('\n')
}

const headerLines = (headers: readonly string[]) =>
  pairsOf(headers).map(([name, value]) => plainLine(`${name}: ${value}`))

const NOT_TEXT = 'The body is not text; --json prints its bytes as body_base64.'

/** Formats one response: time, sender and duration, then status, headers and body as sent by the application. */
function responseLines(response: StoredDelivery['responses'][number], zone: Times['zone']) {
  const { status, duration_ms, to, error, replay, headers, body, body_bytes } = response
  const at = withTimes(isoOf(response.at), zone)
  const what = `${replay ? 'replayed' : 'responded'} ${status ?? 'not at all'} after ${duration_ms} ms`
  return [
    plainLine([at, what, ...(to === null ? [] : [`by ${to}`]), ...(error === null ? [] : [error])].join('  ')),
    ...headerLines(headers),
    ...(body.length === 0 ? [] : ['', isUtf8(body) ? plain(body.toString('utf8')) : NOT_TEXT]),
    ...(body_bytes > body.length ? [`The first ${body.length} of ${body_bytes} bytes were recorded.`] : []),
    '',
  ]
}

const show = leaf({
  name: 'show',
  summary: 'One delivery: headers as received, body, verdict, and responses',
  notes: [
    'DELIVERY is an id such as 1-17, or an update_id: then its newest verified delivery.',
    '--raw writes the bytes of the body as they came, and nothing else. With --json, headers are pairs in their order and body_base64 holds the same bytes.',
    'Of the response of an application, status, headers and the first 64 KiB of the body are recorded.',
  ],
  positional: { name: 'DELIVERY', summary: 'Id of the delivery, or an update_id', ask: 'Delivery' },
  flags: { ...inboxFlag, raw: toggle('Print only the body, byte for byte') },
  examples: ['voucherctl webhook inbox show 1-17', 'voucherctl webhook inbox show 1-17 --raw > body.json'],
  run: async (context, { positional, flags }) => {
    const read = recordedDelivery(context, positional, flags.inbox)
    if (!read.ok) return read
    const { id, verdict, body, headers } = read.stored
    const planted = rightRefusal(faultOfHeaders(pairsOf(headers)).fault)
    const explains = verdict === 'refused' && planted === undefined
    if (flags.raw) context.output.printBytes(body)
    else {
      const next = () => (explains ? `Next: ${suggested`webhook verify --id ${id} --explain`}` : undefined)
      await context.output.print(detailOf(read.stored), { body: (_, times) => pageOf(read.stored, times), next })
    }
    return { ok: true, printed: true }
  },
})

const clear = leaf({
  name: 'clear',
  summary: 'Remove recorded deliveries: all of them, or the old ones',
  notes: [
    'Nothing is removed automatically: the inbox grows until it is cleared. With --before the others stay, under their ids.',
    'A listener may run: what arrives from now on stays. Other files of the folder stay.',
  ],
  flags: {
    ...inboxFlag,
    before: moment('Only what arrived before this date or time, or longer ago, such as 7d', (it) => it),
  },
  examples: [
    'voucherctl webhook inbox clear',
    { command: 'voucherctl webhook inbox clear --before 7d', comment: 'Keep the last week' },
  ],
  changes: true,
  view: {
    headline: (report: { inbox: string; removed: number; left: number }) =>
      report.left === 0
        ? `${report.inbox} is empty; ${report.removed} removed.`
        : `${report.removed} removed, ${report.left} left.`,
    members: [],
  },
  run: async (context, { flags }) => {
    const dir = inboxDirOf(context.host, flags.inbox)
    const missing = missingInbox(flags.inbox, dir)
    if (missing !== undefined) return missing
    const before = timeOf(context, flags.before)
    if (context.dryRun) {
      const which = before === undefined ? '' : ` before ${isoOf(before)}`
      return context.plan(`remove every delivery of ${dir}${which}`)
    }
    const which = before === undefined ? '' : ` from before ${isoOf(before)}`
    const refusal = await context.confirm({
      action: `Clearing ${dir}`,
      loses: `Every recorded delivery of ${dir}${which} is lost.`,
    })
    if (refusal !== undefined) return refusal
    try {
      return { ok: true, data: { inbox: dir, ...clearInbox(dir, before) } }
    } catch (error) {
      return inboxFailure(error, dir)
    }
  },
})

export const inbox: Group = {
  name: 'inbox',
  summary: 'What `webhook listen` has recorded',
  commands: [list, show, clear],
}
