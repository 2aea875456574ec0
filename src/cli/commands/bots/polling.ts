import { NOT_A_RESPONSE } from '../../../client/failure.js'
import { bots as contract } from '../../../contract/bots.js'
import type { Update, UpdateType } from '../../../contract/updates.js'
import { defined } from '../../../values/json.js'
import type { PollHold, PollOutcome } from '../../../workbench/polling.js'
import type { Context } from '../../command/context.js'
import { createContext } from '../../command/create-context.js'
import { resolveSettings } from '../../config/settings.js'
import { exitOf } from '../../failures/codes.js'
import { type Failure, fail } from '../../failures/failure.js'
import type { Plan, Result } from '../../output/outcome.js'

/** Milliseconds for the network, added to the time for which the server holds a poll. */
const GRACE_MS = 10_000
/** Milliseconds between attempts to reconnect: one minute in total, enough for a server to restart. */
const RECONNECT_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000]
/** Milliseconds between polls of a server that does not hold them (rules/bots.md#polls-that-are-not-held). */
const PACE_MS = [1_000, 2_000, 4_000, 8_000] as const
/** Maximum milliseconds that the confirmation of updates after Ctrl-C may take. */
const CONFIRM_MS = 2_000
/** Maximum seconds that a server holds a poll (rules/bots.md#polling). */
const HOLD_SECONDS_MAX = 50
/** Maximum seconds to hold a poll over the encrypted transport, whose clients time out after 15 s. */
const HOLD_ENCRYPTED_SECONDS_MAX = 10

export const isEncrypted = ({ settings }: Context) => settings.secure.mode.value !== 'off'

export const longestHold = (context: Context) => (isEncrypted(context) ? HOLD_ENCRYPTED_SECONDS_MAX : HOLD_SECONDS_MAX)

export type PollResult = Result<{ readonly items?: readonly Update[] } | null> | Plan | Failure

interface PollFilter {
  readonly limit?: number | undefined
  readonly allowed_updates?: UpdateType[] | undefined
}

/** Polls once, which confirms all updates before the id `from`. */
export const pollOnce = (
  { call }: Context,
  from: number | undefined,
  seconds: number,
  filter: PollFilter = {},
): Promise<PollResult> =>
  call(
    contract.updates,
    { ...defined({ offset: from, ...filter }), timeout: seconds },
    { timeoutMs: seconds * 1000 + GRACE_MS, progress: 'Waiting for updates' },
  )

/** Creates functions for repeated polls. After a failure they look up the local server, which may have restarted. */
export function polls(context: Context, secondsOf: (hold: PollHold) => number, filter: PollFilter = {}) {
  const { host, settings, output } = context
  // Print no notices for a script: its stderr must hold only the error object.
  const isScript = output.isJson && host.stderr.isTTY !== true
  let by = context
  let failed = false
  return {
    async poll(from: number | undefined, hold: PollHold = 'longest'): Promise<PollResult> {
      if (failed) by = withRestartedServer(context)
      const result = await pollOnce(by, from, secondsOf(hold), filter)
      failed = !result.ok
      return result
    },
    /** Confirms to the server all updates before this id. */
    confirm: (before: number): Promise<PollResult> =>
      by.call(
        contract.updates,
        { offset: before, limit: 1, timeout: 0 },
        { timeoutMs: CONFIRM_MS, signal: AbortSignal.timeout(CONFIRM_MS) },
      ),
    notice: (text: string) => (isScript ? undefined : output.notice(text)),
    warn: (text: string) => output.notice(text),
    signal: host.signal,
    reconnectMs: settings.retries.value === 0 ? [] : RECONNECT_MS,
    paceMs: PACE_MS,
    asksToHold: secondsOf('longest') > 0,
  }
}

/** Creates a context for a restarted local server, which is another process and may use another port. */
export function withRestartedServer(context: Context): Context {
  const { host, globals, settings, output } = context
  const resolved = settings.localServer === undefined ? undefined : resolveSettings(host, globals)
  return resolved?.ok ? createContext(host, globals, resolved.settings, output, context.line) : context
}

/**
 * Converts the result of a poll. The server counts as unavailable if it does not respond, responds with a 5xx, or is a
 * local server that is restarting. Invalid update ids are an invalid response (rules/bots.md#update-ids).
 */
export function polledOf(result: PollResult, from: number | undefined): PollOutcome<Failure> {
  if ('plan' in result) throw new Error('a dry run does not come here')
  if (!result.ok) {
    const isAway = exitOf(result) === 9 || result.code === 'BASE_URL_REQUIRED'
    return { ok: false, isAway, failure: result }
  }
  const updates = result.data?.items ?? []
  const mistake = mistakeOf(updates, from)
  if (mistake === undefined) return { ok: true, updates }
  const hint =
    'None of these updates was handled or confirmed. Check the base URL (`voucherctl profile show --explain`).'
  return { ok: false, isAway: false, failure: fail('INVALID_RESPONSE', `${NOT_A_RESPONSE}: ${mistake}.`, hint) }
}

/** Describes the first update whose id is invalid or not above the ids before it. */
function mistakeOf(updates: readonly (Update | null)[], from: number | undefined): string | undefined {
  let least = Math.max(from ?? 0, 0)
  for (const [at, update] of updates.entries()) {
    const id: unknown = update?.update_id
    const name = `data.items[${at}].update_id`
    if (typeof id !== 'number' || !Number.isSafeInteger(id + 1)) return `${name} is not an integer below 2^53 - 1`
    if (id < 0) return `${name} is negative`
    if (id < least) return `${name} is below ${least}, although the ids of updates ascend from the offset`
    least = id + 1
  }
  return undefined
}

export const inWords = ({ message }: Failure) => message.replace(/\.$/, '')
