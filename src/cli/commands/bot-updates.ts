import * as contract from '../../contract/bots.js'
import type { Update } from '../../contract/updates.js'
import { updateTypes } from '../../contract/updates.js'
import type { Context } from '../context.js'
import { defined } from '../defined.js'
import { usage } from '../failure.js'
import { integer, list, toggle } from '../flags.js'
import type { Outcome } from '../leaf.js'
import { leaf } from '../leaf.js'
import { plainLine } from '../plain.js'
import { isList, textOf } from '../show.js'
import type { Following, Polled } from './bot-follow.js'
import { follow } from './bot-follow.js'
import { anew, isEncrypted, longestHold } from './polling.js'

/** What the network may take beyond the time that the server holds the poll. */
const GRACE_MS = 10_000

export const updates = leaf({
  name: 'updates',
  summary: contract.updates.summary,
  notes: [
    'Polls as the bot. Reading confirms nothing; --offset confirms every update before it, and --follow confirms what it has printed: with its next poll, and at the end after Ctrl-C. --timeout is how long the server waits for a first update, at most 50s, encrypted 10s.',
    '--follow waits a minute for a server that is away, and says so; with --retries 0 it does not. When its reader goes away, the updates since the last poll are not confirmed and come again.',
    'A bot with a webhook cannot poll (exit 6): voucherctl webhook delete BOT_ID.',
  ],
  flags: {
    offset: integer('N', 'The first update wanted; negative: the last so many', -1_000_000_000_000, 1_000_000_000_000),
    limit: integer('N', 'At most so many, 1 to 100', 1, 100),
    follow: toggle('Go on until Ctrl-C, one update a line'),
    'allowed-update': list('TYPE', `Only these types from now on: ${updateTypes.join(', ')}`, updateTypes),
  },
  examples: [
    { command: 'voucherctl bots updates' },
    { command: 'voucherctl bots updates --offset 18', comment: 'Confirm every update before 18' },
    { command: 'voucherctl bots updates --follow --json', comment: 'One JSON object a line' },
  ],
  view: { headline: (it: unknown) => (isList(it) ? undefined : lineOf(it as Update)), body: linesOf },
  run: async (context, { flags }): Promise<Outcome<unknown>> => {
    const { offset, limit, follow: goesOn, 'allowed-update': types } = flags
    const asked = context.globals.timeout
    const longest = longestHold(context)
    if (asked !== undefined && asked > longest * 1000) {
      return usage(
        `--timeout is at most ${longest}s: ${isEncrypted(context) ? 'an encrypted poll' : 'a poll'} is held no longer.`,
      )
    }
    const allowed = types.length === 0 ? {} : { allowed_updates: [...types] }
    const seconds = asked === undefined ? (goesOn ? longest : 0) : Math.ceil(asked / 1000)
    const poll = (from: number | undefined, by = context) =>
      by.call(
        contract.updates,
        { ...defined({ offset: from, limit }), ...allowed, timeout: seconds },
        { timeoutMs: seconds * 1000 + GRACE_MS, progress: 'Waiting for updates' },
      )
    if (!goesOn || context.dryRun) return poll(offset)
    return { ok: true, lines: follow(following(context, poll), offset) }
  },
})

/** A minute in all: a server that starts again is back by then. */
const RECONNECT_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** What a person waits for after Ctrl-C at most. */
const CONFIRM_MS = 2_000

function following(context: Context, poll: (from: number | undefined, by: Context) => Promise<Polled>): Following {
  const { host, settings, output } = context
  const { format } = output.options
  // The error object of a script stands alone on stderr.
  const isScript = (format === 'json' || format === 'jsonl') && host.stderr.isTTY !== true
  let by = context
  let failed = false
  return {
    async poll(from) {
      if (failed) by = anew(context)
      const polled = await poll(from, by)
      failed = !polled.ok
      return polled
    },
    confirm: (before) =>
      by.call(
        contract.updates,
        { offset: before, limit: 1, timeout: 0 },
        { timeoutMs: CONFIRM_MS, signal: AbortSignal.timeout(CONFIRM_MS) },
      ),
    notice: (text) => (isScript ? undefined : output.notice(text)),
    warn: (text) => output.notice(text),
    signal: host.signal,
    waitsMs: settings.retries.value === 0 ? [] : RECONNECT_MS,
  }
}

function linesOf(data: unknown): string {
  if (!isList(data) || data.items.length === 0) return 'No updates wait.'
  return (data.items as readonly Update[]).map((it) => plainLine(lineOf(it))).join('\n')
}

/** An update on one line: what kind, from whom, which words. */
function lineOf(it: Update): string {
  // Copies: an update has the members that apply to it, and a sentence drops whatever asks for one that is not there.
  const update: Update = { ...it }
  const payload: Payload = { ...(update[update.type] as Payload | undefined) }
  const parts = [
    update.created_at === undefined ? undefined : textOf(update.created_at),
    update.update_id === undefined ? undefined : `#${update.update_id}`,
    update.type,
    payload.chat?.id,
    payload.from?.id,
    payload.new_status,
    payload.text ?? payload.query,
  ]
  return parts.filter((part) => part !== undefined).join('  ')
}

interface Payload {
  readonly chat?: { readonly id: string }
  readonly from?: { readonly id: string }
  readonly text?: string
  readonly query?: string
  readonly new_status?: string
}
