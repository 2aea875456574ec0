import { notify, type Op, run } from './operation.js'
import { columnOverrides } from './tables.js'

/** A stored copy of the state. Times in ms since 1970. */
export interface StoredSnapshot {
  readonly name: string
  /** True time of the copy. */
  readonly saved_at: number
  /** Time of the server's clock at that moment. */
  readonly clock: number
  /** Number of vouchers in the copy. */
  readonly vouchers: number
}

/**
 * Subject of the notice that the state was replaced (`restore`, `clear`). Each process then forgets what it holds of
 * the previous state.
 */
export const STATE_REPLACED = 'state replaced'

/** The file of a snapshot is damaged and must be deleted. The state of the store is not in it. */
export class SnapshotsDamaged extends Error {
  override readonly name = 'SnapshotsDamaged'
  readonly file: string

  constructor(file: string, options?: ErrorOptions) {
    super('the file of a snapshot is damaged', options)
    this.file = file
  }
}

/**
 * Copies of the state: of all tables except keys and what a crash may lose (`stateTables` of tables.ts). A copy is
 * complete or absent, and on a store with a file or a server it survives a restart. Calls that read a copy throw
 * SnapshotsDamaged if its file is damaged.
 */
export interface StoreSnapshots {
  /** Copies the state; replaces a copy of the same name. */
  save(snapshot: Omit<StoredSnapshot, 'vouchers'>): Promise<StoredSnapshot>
  /** Replaces the state by a copy; `outdated` if the copy has another schema version. */
  restore(name: string): Promise<StoredSnapshot | 'missing' | 'outdated'>
  /** All copies, oldest first. */
  list(): Promise<StoredSnapshot[]>
  remove(name: string): Promise<StoredSnapshot | undefined>
  /** Deletes the state and runs `plant`, in one transaction. */
  clear(plant: () => Op<unknown>): Promise<void>
}

/** Order of a list: oldest first, then by name. */
export const byAge = (a: StoredSnapshot, b: StoredSnapshot) => a.saved_at - b.saved_at || (a.name < b.name ? -1 : 1)

/** SQL that gives up the deliveries that were claimed when the state was saved; run after a restore, with triggers. */
export const releaseLeases = Object.entries(columnOverrides).map(([table, overrides]) => {
  const sets = Object.entries(overrides).map(([column, value]) => `${column} = ${value}`)
  return `update ${table} set ${sets.join(', ')} where lease_until is not null`
})

/**
 * SQL that turns the triggers of the tables of the state off and on, inside one transaction. A trigger that follows
 * changes, such as one that counts rows, would run for each row of a copy or deletion, although the table that it
 * changes is copied or emptied as well.
 */
export interface Triggers {
  readonly off: readonly string[]
  readonly on: readonly string[]
}

/** Deletes the rows of all tables of the state, and runs `plant`. */
export function* clearState(
  plant: () => Op<unknown>,
  tables: readonly string[],
  { off, on }: Triggers = { off: [], on: [] },
): Op<void> {
  for (const sql of [...off, ...tables.toReversed().map((it) => `delete from ${it}`), ...on]) yield* run(sql)
  yield* plant()
  yield* notify(STATE_REPLACED)
}
