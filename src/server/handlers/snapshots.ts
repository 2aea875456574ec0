import { refuse } from '../../contract/errors.js'
import type { Snapshot } from '../../contract/platform/controls.js'
import { formatInstant } from '../../domain/time.js'
import { SnapshotsDamaged, type StoredSnapshot } from '../../store/snapshots.js'
import { TestClock } from '../clock.js'
import type { MakeSome } from '../handler.js'

/** Snapshots and resets through the operator API (rules/operator.md#snapshots). */
export const snapshotHandlers = (({ snapshots, clock, stateAccess }) => {
  const refuseAccess = () => (stateAccess.isAllowed ? null : refuse('RESET_NOT_ALLOWED'))
  const refuseReplacing = (shared = false) =>
    refuseAccess() ?? (stateAccess.isShared && !shared ? refuse('DATABASE_SHARED') : null)
  return {
    snapshots: () =>
      unlessDamaged(
        async () => refuseAccess() ?? { ok: true, data: { items: (await snapshots.list()).map(recordOf) } },
      ),

    saveSnapshot: {
      bypassesGate: true,
      handle: ({ name }) =>
        unlessDamaged(async () => refuseAccess() ?? { ok: true, data: recordOf(await snapshots.save(name)) }),
    },

    restoreSnapshot: {
      bypassesGate: true,
      handle: ({ name, shared }) =>
        unlessDamaged(async () => {
          const refusal = refuseReplacing(shared)
          if (refusal !== null) return refusal
          // A server on the true time would not start on a moved store again (rules/operator.md#test-clock).
          const isMoved = (it: StoredSnapshot) => it.name === name && Math.abs(it.clock - it.saved_at) > 1_000
          // The list fails for any damaged file, but the restore only for its own.
          const listed = clock instanceof TestClock ? [] : await snapshots.list().catch(() => [])
          if (listed.some(isMoved)) return refuse('TEST_CLOCK_OFF')
          const restored = await snapshots.restore(name)
          if (restored === 'missing') return refuse('SNAPSHOT_NOT_FOUND')
          if (restored === 'outdated') return refuse('SNAPSHOT_OUTDATED')
          return { ok: true, data: recordOf(restored) }
        }),
    },

    removeSnapshot: ({ name }) =>
      unlessDamaged(async () => {
        const refusal = refuseAccess()
        if (refusal !== null) return refusal
        const removed = await snapshots.remove(name)
        return removed === undefined ? refuse('SNAPSHOT_NOT_FOUND') : { ok: true, data: recordOf(removed) }
      }),

    reset: {
      bypassesGate: true,
      handle: async ({ shared }) => {
        const refusal = refuseReplacing(shared)
        if (refusal !== null) return refusal
        await snapshots.reset()
        return { ok: true, data: { now: formatInstant(clock.now()) } }
      },
    },
  }
}) satisfies MakeSome<'platform'>

/** Names a damaged file to the operator, who alone may delete it. */
async function unlessDamaged<T>(call: () => Promise<T>) {
  try {
    return await call()
  } catch (error) {
    if (error instanceof SnapshotsDamaged) return refuse('SNAPSHOTS_DAMAGED', { file: error.file })
    throw error
  }
}

const recordOf = ({ name, saved_at, clock, vouchers }: StoredSnapshot): Snapshot => ({
  name,
  saved_at: formatInstant(saved_at),
  clock: formatInstant(clock),
  vouchers,
})
