import type { Update } from '../contract/updates.js'
import { pause } from './pause.js'

/** What a poll found; or why it found nothing, and whether the server may be back later. */
export type Polled<F> =
  | { readonly ok: true; readonly updates: readonly Update[] }
  | { readonly ok: false; readonly isAway: boolean; readonly failure: F }

/** How long the server may wait for a first update. */
export type Hold = 'at once' | 'as long as it may'

export interface Polling<F> {
  /** Reads what waits from an update on, which confirms those before it, and waits so long for a first one. */
  poll(from: number | undefined, hold: Hold): Promise<Polled<F>>
  /** The first poll was accepted. */
  ready?(): void
  /** The server is away, or is back. */
  notice(text: string): void
  /** The reason of a failure, in a sentence without its full stop. */
  inWords(failure: F): string
  readonly signal: AbortSignal
  /** Before each further poll of a server that is away; after the last it is given up. */
  readonly reconnectMs: readonly number[]
  /** Minimum milliseconds between successive polls that return empty early; the last value repeats. */
  readonly paceMs: readonly [number, ...number[]]
  /** True if polls ask the server to hold them until there is an update. */
  readonly asksToHold: boolean
}

export interface Place {
  /** The first update that is not dealt with; whoever is handed one moves it. Negative: the last so many. */
  next: number | undefined
  /** As the server knows it. */
  confirmed: number | undefined
  /** Whether the server was away when it ended. */
  isLost: boolean
}

/**
 * Polls until the signal, hands over each update in the order of their ids, and yields what that yields. A failure of
 * a poll, or of what it was handed to, ends it. The next poll confirms what the place has passed.
 *
 * A server that was there and is away is waited for; one that never answered is a failure at once.
 */
export async function* pollOn<F, Line>(
  { poll, ready, notice, inWords, signal, reconnectMs, paceMs, asksToHold }: Polling<F>,
  place: Place,
  handOver: (update: Update) => AsyncGenerator<Line, F | undefined>,
): AsyncGenerator<Line, F | undefined> {
  let connected = false
  let lost: F | undefined
  let waits = 0
  let emptyPolls = 0
  let isPaced = false
  while (!signal.aborted) {
    // The first answers at once: only then is it known that the server lets this bot poll.
    const hold = connected && lost === undefined ? 'as long as it may' : 'at once'
    const startedAt = performance.now()
    const polled = await poll(place.next, hold)
    if (signal.aborted) break
    if (!polled.ok) {
      if (!polled.isAway) return polled.failure
      lost ??= polled.failure
      place.isLost = true
      const waitMs = connected ? reconnectMs[waits] : undefined
      if (waitMs === undefined) return lost
      if (waits === 0) notice(`${inWords(polled.failure)}. Trying again.`)
      waits += 1
      await pause(waitMs, signal)
      continue
    }
    if (lost !== undefined) notice('Connected again.')
    if (!connected) ready?.()
    connected = true
    lost = undefined
    place.isLost = false
    waits = 0
    // "The last so many" was asked once: asked again, it would drop what came since.
    if (place.next !== undefined && place.next < 0) place.next = undefined
    place.confirmed = place.next
    for (const update of polled.updates) {
      const failure = yield* handOver(update)
      if (failure !== undefined) return failure
    }
    if (hold === 'at once') continue
    const leastMs = paceMs[Math.min(emptyPolls, paceMs.length - 1)] as number
    const spareMs = polled.updates.length > 0 ? 0 : leastMs - (performance.now() - startedAt)
    emptyPolls = spareMs > 0 ? emptyPolls + 1 : 0
    if (spareMs <= 0) continue
    if (asksToHold && !isPaced) notice('The server does not hold polls: updates may come some seconds late.')
    isPaced = true
    await pause(spareMs, signal)
  }
  return undefined
}
