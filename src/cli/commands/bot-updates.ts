import * as contract from '../../contract/bots.js'
import type { Update } from '../../contract/updates.js'
import { updateTypes } from '../../contract/updates.js'
import type { Context } from '../context.js'
import { defined } from '../defined.js'
import type { Failure } from '../failure.js'
import { usage } from '../failure.js'
import { integer, list, toggle } from '../flags.js'
import type { Outcome } from '../leaf.js'
import { leaf } from '../leaf.js'
import { plainLine } from '../plain.js'
import { isList } from '../show.js'

/** The longest that a server holds a poll (decisions.md 8, getUpdates). */
const HOLD_SECONDS_MAX = 50
/** What the network may take beyond the time that the server holds the poll. */
const GRACE_MS = 10_000

export const updates = leaf({
  name: 'updates',
  summary: contract.updates.summary,
  notes: [
    'Polls as the bot. Reading confirms nothing; --offset confirms every update before it, and --follow confirms what it has printed. --timeout is how long the server waits for a first update, at most 50s.',
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
    { command: 'voucherctl bots updates --follow --json', comment: 'One JSON object a line' },
  ],
  view: { headline: (it: unknown) => (isList(it) ? undefined : lineOf(it as Update)), body: linesOf },
  run: async (context, { flags }): Promise<Outcome<unknown>> => {
    const { offset, limit, follow, 'allowed-update': types } = flags
    const asked = context.globals.timeout
    if (asked !== undefined && asked > HOLD_SECONDS_MAX * 1000) {
      return usage(`--timeout is at most ${HOLD_SECONDS_MAX}s: a server holds a poll no longer.`)
    }
    const allowed = types.length === 0 ? {} : { allowed_updates: [...types] }
    const seconds = asked === undefined ? (follow ? HOLD_SECONDS_MAX : 0) : Math.ceil(asked / 1000)
    const poll = (from: number | undefined) =>
      context.call(
        contract.updates,
        { ...defined({ offset: from, limit }), ...allowed, timeout: seconds },
        { timeoutMs: seconds * 1000 + GRACE_MS },
      )
    if (!follow || context.dryRun) return poll(offset)
    return { ok: true, lines: followed(context, poll, offset) }
  },
})

type Poll = (offset: number | undefined) => ReturnType<Context['call']>

/** Each update once it is there; the next poll confirms those that were printed. */
async function* followed(
  { host }: Context,
  poll: Poll,
  offset: number | undefined,
): AsyncGenerator<Update, Failure | undefined> {
  let next = offset
  while (!host.signal.aborted) {
    const polled = await poll(next)
    if (host.signal.aborted) return undefined
    if (!polled.ok) return 'plan' in polled ? undefined : polled
    const { items } = (polled.data ?? {}) as { items?: readonly Update[] }
    for (const update of items ?? []) {
      yield update
      next = update.update_id + 1
    }
  }
  return undefined
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
    update.created_at,
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
