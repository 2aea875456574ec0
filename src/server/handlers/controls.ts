import { refuse } from '../../contract/errors.js'
import { formatInstant, parseInstant } from '../../domain/time.js'
import { forecast } from '../../store/forecast.js'
import { moveClock } from '../../store/test-clock.js'
import { LATEST_TEST_TIME, TestClock } from '../clock.js'
import { issueOfFault } from '../faults.js'
import { invalid, type MakeSome } from '../handler.js'

/** The test clock (rules/operator.md#test-clock), faults (rules/operator.md#faults), and the interface's reference. */
export const controlHandlers = (({ clock, faults, store }) => {
  const clockState = (now = clock.now()) => ({ ok: true, data: { now: formatInstant(now), test_clock: true } }) as const
  /** Stores the move before the response, so that no crash sets the clock back. @param next returns the new time */
  const move = async (target: ReturnType<typeof futureTime>, next: (now: number, target: number) => number) => {
    if (!(clock instanceof TestClock)) return refuse('TEST_CLOCK_OFF')
    if (typeof target === 'object') return target
    const trueNow = Math.round(clock.trueNow())
    const ahead = await store.write(() =>
      // A program that embeds the server moves its clock without the store.
      moveClock((stored) => next(trueNow + Math.max(stored, clock.ahead), target) - trueNow),
    )
    clock.advance(Math.max(0, ahead - clock.ahead))
    return clockState(trueNow + ahead)
  }
  /** Checks a target time of the test clock. */
  const futureTime = (member: string, text: string) => {
    const refused = (code: string, message: string) => invalid({ pointer: `/${member}`, code, message })
    const target = parseInstant(text)
    if (target === null) return refused('format', 'is not a time that exists')
    if (target < clock.now()) return refused('minimum', 'lies in the past; the test clock only moves forward')
    if (target > LATEST_TEST_TIME) return refused('maximum', 'must lie before the year 9990')
    return target
  }
  const afterSeconds = (seconds: number) => {
    const target = clock.now() + seconds * 1000
    return target <= LATEST_TEST_TIME
      ? target
      : invalid({ pointer: '/seconds', code: 'maximum', message: 'must keep the clock before the year 9990' })
  }
  return {
    getClock: async () => (clock instanceof TestClock ? clockState() : refuse('TEST_CLOCK_OFF')),
    setClock: async ({ now }) => move(futureTime('now', now), Math.max),
    advanceClock: async ({ seconds }) => move(afterSeconds(seconds), (now) => now + seconds * 1000),
    forecast: async ({ until, seconds }) => {
      if (!(clock instanceof TestClock)) return refuse('TEST_CLOCK_OFF')
      if (until !== undefined && seconds !== undefined)
        return invalid({ pointer: '/until', code: 'conflict', message: 'cannot be combined with seconds' })
      const now = clock.now()
      const target = until === undefined ? afterSeconds(seconds ?? 0) : futureTime('until', until)
      if (typeof target === 'object') return target
      const counted = await store.read(() => forecast(now, target))
      return { ok: true, data: { now: formatInstant(now), until: formatInstant(target), ...counted } }
    },

    faults: async () => ({ ok: true, data: { items: [...faults.list()], held: [...faults.held()] } }),
    addFault: async (fault) => {
      const issue = issueOfFault(fault)
      return issue === undefined ? { ok: true, data: faults.add(fault) } : invalid(issue)
    },
    releaseCalls: async ({ request_id: id }) => {
      const released = faults.release((it) => id === undefined || it.request_id === id)
      return { ok: true, data: { released } }
    },
    removeFault: async ({ faultId }) => {
      const removed = faults.remove(faultId)
      return removed === undefined ? refuse('FAULT_NOT_FOUND') : { ok: true, data: removed }
    },
    clearFaults: async () => ({ ok: true, data: { removed: faults.clear() } }),

    reference: async () => {
      // Loaded on demand: only the page reads it.
      const { reference } = await import('../../contract/openapi/reference.js')
      return { ok: true, data: reference() }
    },
  }
}) satisfies MakeSome<'platform'>
