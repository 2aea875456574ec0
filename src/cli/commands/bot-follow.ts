import type { Update } from '../../contract/updates.js'
import type { Failure } from '../failure.js'
import { exitOf } from '../failure.js'
import type { Answer, Plan } from '../leaf.js'
import { untilAborted } from '../until-aborted.js'

/** What a poll found, or why it found nothing. */
export type Polled = Answer<{ readonly items?: readonly Update[] } | null> | Plan | Failure

export interface Following {
  /** Reads what waits from an update on, which confirms those before it. */
  poll(from: number | undefined): Promise<Polled>
  /** Confirms the updates before this one at once, after the signal. */
  confirm(before: number): Promise<Polled>
  /** The server is away, or is back. */
  notice(text: string): void
  /** What must be done so that nothing comes twice. */
  warn(text: string): void
  /** Ends it in good order. */
  readonly signal: AbortSignal
  /** Before each further poll of a server that is away; after the last it is given up. */
  readonly waitsMs: readonly number[]
}

/**
 * Each update once it is there. The next poll confirms what was handed over, and after the signal a last call does, so
 * that the next run goes on where this one ended. A reader that has gone asks for nothing more: what it was handed
 * since the last poll is not confirmed and comes again.
 *
 * A server that was there and is away is waited for; one that never answered is a failure at once.
 */
export async function* follow(
  { poll, confirm, notice, warn, signal, waitsMs }: Following,
  offset: number | undefined,
): AsyncGenerator<Update, Failure | undefined> {
  let next = offset
  let confirmed = offset
  let connected = false
  let lost: Failure | undefined
  let waits = 0
  while (!signal.aborted) {
    const polled = await poll(next)
    if (signal.aborted) break
    if (!polled.ok) {
      if ('plan' in polled) return undefined
      if (!isAway(polled)) return resumable(polled, next, confirmed)
      lost ??= polled
      const waitMs = connected ? waitsMs[waits] : undefined
      if (waitMs === undefined) return resumable(lost, next, confirmed)
      if (waits === 0) notice(`${polled.message.replace(/\.$/, '')}. Trying again.`)
      waits += 1
      await pause(waitMs, signal)
      continue
    }
    if (lost !== undefined) notice('Connected again.')
    connected = true
    lost = undefined
    waits = 0
    // "The last so many" was asked once: asked again, it would drop what came since.
    if (next !== undefined && next < 0) next = undefined
    confirmed = next
    for (const update of polled.data?.items ?? []) {
      yield update
      next = update.update_id + 1
    }
  }
  if (next === undefined || next === confirmed) return undefined
  const last = await confirm(next)
  if (!last.ok) warn(`warning: the last updates could not be confirmed. ${goOn(next)}`)
  return undefined
}

/** No answer, or one of a server in trouble; or the local server, which was there, is not yet again. */
const isAway = (failure: Failure) => exitOf(failure) === 9 || failure.code === 'BASE_URL_REQUIRED'

const goOn = (next: number) => `Go on with --offset ${next}, or they may come again.`

function resumable(failure: Failure, next: number | undefined, confirmed: number | undefined): Failure {
  if (next === undefined || next === confirmed) return failure
  const hint = [failure.hint, 'The last updates may not be confirmed.', goOn(next)]
    .filter((it) => it !== null)
    .join(' ')
  return { ...failure, hint, details: { ...failure.details, next_offset: next } }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await untilAborted(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), signal)
  clearTimeout(timer)
}
