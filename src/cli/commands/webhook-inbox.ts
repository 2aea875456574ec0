import { parseJson } from '../../secure/json.js'
import type { RecordedDelivery } from '../../webhooks/inbox-frames.js'
import type { Listed, Stored } from '../../webhooks/inbox.js'
import { pairsOf } from '../../webhooks/header-pairs.js'
import type { Context } from '../context.js'
import { fail } from '../failure.js'
import { choice, durationMs, integer, one, text, toggle } from '../flags.js'
import type { Group } from '../leaf.js'
import { leaf } from '../leaf.js'
import { plain, plainLine } from '../plain.js'
import { updateIdOf } from './update-id.js'
import { inboxDirOf, inboxFailure, inboxFlag } from './webhook-inbox-dir.js'
import { recordedDelivery } from './webhook-recorded.js'

const LIST_DEFAULT = 20
const LIST_MAX = 10_000

type Time = { readonly at: number } | { readonly agoMs: number }

/** A time, or so long ago. */
const time = (summary: string) =>
  one<Time>('TIME', summary, (it) => {
    const agoMs = durationMs(it)
    if (agoMs !== undefined) return { ok: true, value: { agoMs } }
    const at = /^\d{4}-\d\d-\d\dT/.test(it) ? Date.parse(it) : Number.NaN
    return Number.isNaN(at)
      ? { ok: false, message: 'must be a time such as 2026-11-21T10:00:00Z, or a duration such as 10m' }
      : { ok: true, value: { at } }
  })

export const sinceFlag = time('From this time on (ISO 8601), or so long ago, such as 10m')

/** In milliseconds since 1970. */
export const timeOf = <T extends Time | undefined>({ host }: Context, it: T) =>
  (it === undefined ? undefined : 'at' in it ? it.at : host.now() - it.agoMs) as T extends Time ? number : undefined

const list = leaf({
  name: 'list',
  summary: 'Deliveries that were recorded, the newest last',
  notes: [
    'failed is what the application did not answer with 2xx, neither at first nor later; what a running listener still waits for is not.',
  ],
  flags: {
    ...inboxFlag,
    type: text('TYPE', 'Only updates of this type'),
    verdict: choice(['ok', 'duplicate', 'refused'], 'Only these'),
    failed: toggle('Only those that the application failed'),
    since: sinceFlag,
    limit: integer('N', `The newest so many, default ${LIST_DEFAULT}`, 1, LIST_MAX),
  },
  examples: [
    { command: 'voucherctl webhook inbox list --failed' },
    { command: 'voucherctl webhook inbox list --type message --since 10m --json' },
  ],
  view: { members: ['id', 'time', 'verdict', 'reason', 'type', 'update_id', 'status'] },
  run: async (context, { flags }) => {
    const dir = inboxDirOf(context.host, flags.inbox)
    const { Inbox } = await import('../../webhooks/inbox.js')
    try {
      const inbox = Inbox.open(dir)
      const { type, verdict, failed } = flags
      const found = inbox.find(
        { type, verdict, failed, since: timeOf(context, flags.since) },
        flags.limit ?? LIST_DEFAULT,
      )
      return { ok: true, data: { items: found.map((it) => summaryOf(it, inbox.delivery(it))) } }
    } catch (error) {
      return inboxFailure(error, dir)
    }
  },
})

function summaryOf(listed: Listed, stored: RecordedDelivery | undefined) {
  return {
    id: listed.id,
    time: new Date(listed.at).toISOString(),
    verdict: listed.verdict,
    reason: stored === undefined ? 'damaged' : stored.reason,
    type: stored?.type ?? null,
    update_id: updateIdOf(stored?.update_id ?? null),
    // A refusal is always the same, and no answer of its own is recorded.
    status: listed.status ?? (listed.verdict === 'refused' ? 401 : null),
    bytes: stored?.body.length ?? null,
  }
}

function detailOf({ id, at, verdict, reason, update_id, type, method, url, headers, body, answers }: Stored) {
  return {
    id,
    time: new Date(at).toISOString(),
    verdict,
    reason,
    update_id: updateIdOf(update_id),
    type,
    method,
    url,
    headers: pairsOf(headers),
    body: parsed(body) ?? null,
    body_base64: body.toString('base64'),
    answers: answers.map((it) => ({
      time: new Date(it.at).toISOString(),
      status: it.status,
      duration_ms: it.duration_ms,
      to: it.to,
      error: it.error,
      replay: it.replay,
    })),
  }
}
type Detail = ReturnType<typeof detailOf>

const parsed = (body: Buffer): unknown => parseJson(body.toString('utf8'))

function pageOf({ id, time, verdict, reason, method, url, headers, body, body_base64, answers }: Detail): string {
  const bytes = Buffer.from(body_base64, 'base64')
  return [
    `${id}  ${time}  ${verdict}${reason === null ? '' : ` (${reason})`}`,
    '',
    plainLine(`${method} ${url}`),
    ...headers.map(([name, value]) => plainLine(`${name}: ${value}`)),
    '',
    body === null ? plain(bytes.toString('utf8')) : plain(JSON.stringify(body, null, 2)),
    '',
    ...answers.map((it) => plainLine(answerLine(it))),
    ...(answers.length === 0 ? [verdict === 'refused' ? 'Answered 401.' : 'No answer was recorded.'] : []),
  ].join('\n')
}

function answerLine({ time, status, duration_ms, to, error, replay }: Detail['answers'][number]): string {
  const what = `${replay ? 'replayed' : 'answered'} ${status ?? 'not at all'} after ${duration_ms} ms`
  return [time, what, ...(to === null ? [] : [`by ${to}`]), ...(error === null ? [] : [error])].join('  ')
}

const show = leaf({
  name: 'show',
  summary: 'One delivery: headers as received, body, verdict, answers',
  notes: [
    'DELIVERY is an id such as 1-17, or an update_id: then its newest verified delivery.',
    '--raw writes the bytes of the body as they came, and nothing else. With --json, headers are pairs in their order and body_base64 holds the same bytes.',
  ],
  positional: { name: 'DELIVERY', summary: 'Id of the delivery, or an update_id', ask: 'Delivery' },
  flags: { ...inboxFlag, raw: toggle('Only the body, byte for byte') },
  examples: [
    { command: 'voucherctl webhook inbox show 1-17' },
    { command: 'voucherctl webhook inbox show 1-17 --raw > body.json' },
  ],
  run: async (context, { positional, flags }) => {
    const read = await recordedDelivery(context.host, positional, flags.inbox)
    if (!read.ok) return read
    const { id, verdict, body } = read.stored
    const inbox = flags.inbox === undefined ? '' : ` --inbox ${flags.inbox}`
    const explain = `Next: voucherctl webhook verify --id ${id} --explain${inbox}`
    if (flags.raw) context.output.printBytes(body)
    else {
      const next = () => (verdict === 'refused' ? explain : undefined)
      await context.output.print(detailOf(read.stored), { body: pageOf, next })
    }
    return { ok: true, printed: true }
  },
})

const clear = leaf({
  name: 'clear',
  summary: 'Remove recorded deliveries: all of them, or the old ones',
  notes: [
    'Nothing is removed by itself: the inbox grows until it is cleared. With --before the others stay, under their ids.',
    'Refused with exit code 6 while a listener or a replay writes there. Other files of the folder stay.',
  ],
  flags: { ...inboxFlag, before: time('Only what arrived before this time (ISO 8601), or longer ago, such as 7d') },
  examples: [
    { command: 'voucherctl webhook inbox clear' },
    { command: 'voucherctl webhook inbox clear --before 7d', comment: 'Keep the last week' },
  ],
  changes: true,
  view: {
    headline: (it: { inbox: string; removed: number; left: number }) =>
      it.left === 0 ? `${it.inbox} is empty; ${it.removed} removed.` : `${it.removed} removed, ${it.left} left.`,
    members: [],
  },
  run: async (context, { flags }) => {
    const dir = inboxDirOf(context.host, flags.inbox)
    const before = timeOf(context, flags.before)
    if (context.dryRun) {
      const which = before === undefined ? '' : ` before ${new Date(before).toISOString()}`
      return context.plan(`remove every delivery of ${dir}${which}`)
    }
    const { clearBefore, clearInbox } = await import('../../webhooks/inbox-clearing.js')
    try {
      const { writers, ...cleared } = before === undefined ? clearInbox(dir) : clearBefore(dir, before)
      if (writers.length === 0) return { ok: true, data: { inbox: dir, ...cleared } }
      return fail(
        'INBOX_IN_USE',
        `Process ${writers.join(', ')} writes to ${dir}. Nothing was removed.`,
        'Stop the listener first, or clear another inbox with --inbox.',
      )
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
