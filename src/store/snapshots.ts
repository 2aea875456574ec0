import { notify, type Op, run } from './operation.js'
import { columnOverrides } from './tables.js'

/** A stored copy of the state. Times in ms since 1970. */
export interface StoredSnapshot {
  readonly name: string
  /** System time of the copy. */
  readonly saved_at: number
  /** Time of the server's clock at the copy. */
  readonly clock: number
  /** Number of vouchers in the copy. */
  readonly vouchers: number
}

/**
 * Subject of the notice that the state was replaced (`restore`, `clear`). Each process then discards data of the
 * previous state from memory.
 */
export const STATE_REPLACED = 'state replaced'
/** Subject of the notice before it if a snapshot replaced the state. A process of an earlier version ignores this one. */
export const STATE_RESTORED = 'state restored'
/** Notices of a restore, in this order. */
export const RESTORE_NOTICES = [STATE_RESTORED, STATE_REPLACED]

/** Thrown for a damaged snapshot file, which must be deleted. The state of the store is not affected. */
export class SnapshotsDamaged extends Error {
  override readonly name = 'SnapshotsDamaged'
  readonly file: string

  constructor(file: string, options?: ErrorOptions) {
    super('the file of a snapshot is damaged', options)
    this.file = file
  }
}

/**
 * Copies of the state: of all tables except keys and transient data (`stateTables` of tables.ts). A copy is complete or
 * absent, and survives a restart unless the store is in memory. Calls that read a copy throw SnapshotsDamaged for a
 * damaged file.
 */
export interface StoreSnapshots {
  /** Copies the state; replaces a copy with the same name. */
  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot>
  /** Replaces the state with a copy; `outdated` if the copy has another schema version. */
  restore(name: string): Promise<StoredSnapshot | 'missing' | 'outdated'>
  list(): Promise<StoredSnapshot[]>
  remove(name: string): Promise<StoredSnapshot | undefined>
  /** Deletes the state and runs `plant`, in one transaction. */
  clear(plant: () => Op<unknown>): Promise<void>
}

/** Sort order of a list: oldest first, then by name. */
export const byAge = (a: StoredSnapshot, b: StoredSnapshot) => a.saved_at - b.saved_at || (a.name < b.name ? -1 : 1)

/** SQL that releases deliveries which were claimed when the state was saved; run after a restore, with triggers. */
export const releaseLeases = Object.entries(columnOverrides).map(([table, overrides]) => {
  const sets = Object.entries(overrides).map(([column, value]) => `${column} = ${value}`)
  return `update ${table} set ${sets.join(', ')} where lease_until is not null`
})

/**
 * SQL that turns the triggers of the state tables off and on, inside one transaction. Triggers such as those that count
 * rows would run for each copied or deleted row, although the tables that they change are copied or emptied as well.
 */
export interface Triggers {
  readonly off: readonly string[]
  readonly on: readonly string[]
}

/** Deletes the rows of all state tables, then runs `plant`. */
export function* clearState(
  plant: () => Op<unknown>,
  tables: readonly string[],
  { off, on }: Triggers = { off: [], on: [] },
): Op<void> {
  for (const sql of [...off, ...tables.toReversed().map((it) => `delete from ${it}`), ...on]) yield* run(sql)
  yield* plant()
  yield* notify(STATE_REPLACED)
}
