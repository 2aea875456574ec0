import { bots as contract } from '../../../contract/bots.js'
import { type Update, updateTypes } from '../../../contract/updates.js'
import { type PollHold, type PollingOptions, type PollPosition, pollUpdates } from '../../../workbench/polling.js'
import { createContext } from '../../command/create-context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { member, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import type { Times } from '../../output/screen.js'
import { isList } from '../../output/select-fields.js'
import { plainLine, timeInList } from '../../output/text.js'
import { inWords, isEncrypted, longestHold, type PollResult, polledOf, pollOnce, polls } from './polling.js'

/** Schema of an update of any type; an update has a member named after its type. */
export const updateShape = {
  properties: Object.fromEntries(['update_id', 'type', 'created_at', ...updateTypes].map((name) => [name, {}])),
}

export const updates = leaf({
  name: 'updates',
  endpoint: contract.updates,
  output: { properties: { items: { items: updateShape } } },
  notes: [
    'Polls as the bot. Reading confirms nothing; --offset confirms every update before it, and --follow confirms what it has printed: with its next poll, and at the end after Ctrl-C. --timeout is how long the server waits for a first update, at most 50s, encrypted 10s; with --follow, when the command ends.',
    '--follow waits a minute for a server that is away, and says so; with --retries 0 it does not. When its reader goes away, the updates since the last poll are not confirmed and come again.',
    'A bot with a webhook cannot poll (exit 6): voucherctl webhook delete BOT_ID.',
  ],
  flags: {
    offset: member('The first update to return; negative: the last N', 'N'),
    limit: member('Maximum number of updates, 1 to 100', 'N'),
    follow: toggle('Go on until Ctrl-C or --timeout, one update a line'),
    'allowed-update': member(`Only these types from now on: ${updateTypes.join(', ')}`, 'TYPE'),
  },
  examples: [
    'voucherctl bots updates',
    { command: 'voucherctl bots updates --offset 18', comment: 'Confirm every update before 18' },
    { command: 'voucherctl bots updates --follow --json', comment: 'One JSON object a line' },
  ],
  view: {
    headline: (it: unknown) => (isList(it) ? undefined : lineOf(it as Update)),
    body: linesOf,
    empty: 'No updates are waiting.',
    key: 'update_id',
  },
  run: async (context, { flags }): Promise<Outcome<unknown>> => {
    const { offset, limit, follow: goesOn, 'allowed-update': allowed_updates } = flags
    const asked = context.globals.timeout
    const longest = longestHold(context)
    if (asked !== undefined && !goesOn && asked > longest * 1000) {
      return usage(
        `--timeout is at most ${longest}s: ${isEncrypted(context) ? 'an encrypted poll' : 'a poll'} is held no longer.`,
      )
    }
    const wanted = { limit, allowed_updates }
    const seconds = goesOn ? longest : Math.ceil((asked ?? 0) / 1000)
    if (!goesOn || context.dryRun) return pollOnce(context, offset, seconds, wanted)
    // With a time limit, a first poll that the server does not hold shows in time that the server responds.
    const secondsOf = (hold: PollHold) => (asked !== undefined && hold === 'none' ? 0 : seconds)
    const { globals, settings, output, line } = context
    // At the time limit the command ends as after Ctrl-C, but with 0, or 9 if the server does not respond. The timer
    // keeps no process alive.
    const ending = new AbortController()
    if (asked !== undefined) setTimeout(() => ending.abort(TIME_LIMIT), asked).unref()
    const host = { ...context.host, signal: AbortSignal.any([context.host.signal, ending.signal]) }
    const polling = polls(createContext(host, globals, settings, output, line), secondsOf, wanted)
    return { ok: true, lines: follow(polling, offset) }
  },
})

function linesOf(data: unknown, times: Times): string | undefined {
  if (!isList(data)) return undefined
  return (data.items as readonly Update[]).map((it) => plainLine(lineOf(it, times))).join('\n')
}

function lineOf(line: Update, times?: Times): string {
  // Copy the argument: `sentence` passes a proxy that throws when a member is missing, and each type lacks some.
  const update: Update = { ...line }
  const payload: Payload = { ...((update as Readonly<Record<string, unknown>>)[update.type] as Payload | undefined) }
  const parts = [
    typeof update.created_at === 'string' && times !== undefined
      ? timeInList(update.created_at, times)
      : update.created_at,
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

export interface FollowOptions
  extends Pick<PollingOptions<Failure>, 'signal' | 'reconnectMs' | 'paceMs' | 'asksToHold'> {
  /** Requests updates from the id `from` on, which confirms all updates before it. */
  poll(from: number | undefined, hold?: PollHold): Promise<PollResult>
  /** Confirms all updates before this id after the signal aborted. */
  confirm(before: number): Promise<PollResult>
  notice(text: string): void
  /** Warns that updates will be received twice, and how to avoid that. */
  warn(text: string): void
}

/** Reason of the signal that `--timeout` aborts. */
const TIME_LIMIT = 'time limit'

/**
 * Yields each update on arrival. Each poll confirms the updates yielded before it. After the signal aborts, a last call
 * confirms the rest, so that the next run continues after them. If the consumer stops earlier, the server sends
 * the updates since the last poll again.
 *
 * If a server that has responded before becomes unavailable, it reconnects; a server that never responded, or does not
 * at the time limit, is a failure.
 */
export async function* follow(
  { poll, confirm, warn, ...following }: FollowOptions,
  offset: number | undefined,
): AsyncGenerator<Update, Failure | undefined> {
  const position: PollPosition = { next: offset, confirmed: offset, isServerAway: true }
  const polling = {
    poll: async (from: number | undefined, hold: PollHold) => polledOf(await poll(from, hold), from),
    inWords,
    ...following,
  }
  const polled = yield* pollUpdates(polling, position)
  const { next, confirmed, isServerAway } = position
  const isLate = isServerAway && following.signal.reason === TIME_LIMIT
  const failure = isLate ? fail('TIMEOUT', 'No server responds.', 'See what is wrong: `voucherctl doctor`.') : polled
  if (failure !== undefined) return resumable(failure, next, confirmed)
  if (next === undefined || next === confirmed) return undefined
  const last = await confirm(next)
  if (!last.ok) warn(`warning: the last updates could not be confirmed. ${goOn(next)}`)
  return undefined
}

const goOn = (next: number) => `Continue with --offset ${next}, or they may arrive again.`

function resumable(failure: Failure, next: number | undefined, confirmed: number | undefined): Failure {
  if (next === undefined || next === confirmed) return failure
  const hint = [failure.hint, 'The last updates may not be confirmed.', goOn(next)]
    .filter((it) => it !== null)
    .join(' ')
  return { ...failure, hint, details: { ...failure.details, next_offset: next } }
}
