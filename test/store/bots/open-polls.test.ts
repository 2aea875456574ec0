import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PROCESS_CLOCK_SKEW_MS_MAX } from '../../../src/domain/time.js'
import { endOlder, endPoll, holdsPoll, isPolled, takePoll } from '../../../src/store/bots/open-polls.js'
import type { Store } from '../../../src/store/store.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { openTestStore } from '../../support/store/engines.js'
import { noticesOf } from '../../support/store/store-steps.js'

const NOW = 1_000_000
const older = { botId: 'bot_1', holder: 'older', until: NOW + 1 }
const newer = { botId: 'bot_1', holder: 'newer', until: NOW + 2 }
const ofOther = { botId: 'bot_2', holder: 'older', until: NOW + 1 }

// Only on PostgreSQL: polls on SQLite are in the memory of the only process.
describe.runIf(onPostgres)('stored polls', () => {
  let store: Store
  beforeEach(async () => {
    store = openTestStore()
    await store.write(() => takePoll(ofOther))
  })
  afterEach(() => store.close())

  const holders = () =>
    store.read(function* () {
      const polls = []
      for (const poll of [older, newer, ofOther]) if (yield* holdsPoll(poll)) polls.push(poll)
      return polls
    })
  const polledAt = (now: number, botId = 'bot_1') => store.read(() => isPolled(botId, now))

  it('newer poll of a bot replaces the older poll and notifies its process', async () => {
    expect(await noticesOf(store, () => takePoll(older))).toEqual([])
    expect(await holders()).toEqual([older, ofOther])
    expect(await noticesOf(store, () => takePoll(newer))).toEqual(['bot_1'])
    expect(await holders()).toEqual([newer, ofOther])
  })

  it('poll that responds immediately ends the older poll of the bot and leaves no poll', async () => {
    expect(await noticesOf(store, () => endOlder('bot_1'))).toEqual([])
    await store.write(() => takePoll(older))
    expect(await noticesOf(store, () => endOlder('bot_1'))).toEqual(['bot_1'])
    expect(await holders()).toEqual([ofOther])
  })

  it('end of a poll leaves a newer poll of the bot and the polls of other bots open', async () => {
    await store.write(() => takePoll(newer))
    await store.write(() => endPoll(older))
    expect(await holders()).toEqual([newer, ofOther])
    await store.write(() => endPoll(newer))
    expect(await holders()).toEqual([ofOther])
  })

  it('bot is polled before the end of its poll and not at that time', async () => {
    expect(await polledAt(NOW)).toBe(false)
    await store.write(() => takePoll(older))
    expect([await polledAt(NOW), await polledAt(older.until)]).toEqual([true, false])
  })

  it('poll that ends later than the longest poll and the clock tolerance allow does not count', async () => {
    await store.write(() => takePoll(older))
    const earliest = older.until - 60_000 - PROCESS_CLOCK_SKEW_MS_MAX
    expect([await polledAt(earliest), await polledAt(earliest - 1)]).toEqual([true, false])
  })
})
