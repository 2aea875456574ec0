import { randomUUID } from 'node:crypto'
import { type Store, StoreUnavailable } from '../store.js'
import { Listener, type NoticeHandlers } from './listen.js'
import { migratePostgres, unusable } from './migrate.js'
import { Connections } from './pool.js'
import { PrimaryGuard } from './primary.js'
import { Reads } from './reads.js'
import { holdSchema } from './schema.js'
import { connectionOf, type PostgresSettings } from './settings.js'
import { PostgresSnapshots } from './snapshots.js'
import { Writes } from './writes.js'

/**
 * Opens a PostgreSQL database that any number of processes may share, and migrates its schema. See README.md.
 * @throws StoreUnusable with advice for the user
 */
export async function openPostgresStore(settings: PostgresSettings): Promise<Store> {
  const { config, name } = await connectionOf(settings)
  const guard = new PrimaryGuard()
  await migratePostgres(config, name, false, undefined, guard)

  const listeners = new Set<{ notified: (subject: string) => void; missed: (() => void) | undefined }>()
  const notifyListeners = (subject: string) => {
    for (const { notified } of listeners) notified(subject)
  }
  // Notify local listeners directly after the commit and ignore the copy of the notice that PostgreSQL sends back.
  const self = randomUUID()
  /** Subjects of commits with an unknown result: only the copy of their notice tells that they took effect. */
  const unconfirmed = new Set<string>()
  const handlers: NoticeHandlers = {
    payload(text) {
      const [from, subject] = [text.slice(0, self.length), text.slice(self.length + 1)]
      if (from !== self || unconfirmed.delete(subject)) notifyListeners(subject)
    },
    missed() {
      for (const { missed } of listeners) missed?.()
    },
  }
  const { schema } = settings
  const listener = new Listener(config, handlers, guard, schema === undefined ? undefined : holdSchema(schema))
  const orUnusable = (error: unknown): never => {
    throw unusable(error, name)
  }
  await listener.open().catch(orUnusable)

  const connections = new Connections(config, guard)
  const reads = new Reads(connections)
  const payloadOf = (subject: string) => `${self} ${subject}`
  const committed = (subjects: readonly string[]) => subjects.forEach(notifyListeners)
  const unknown = (subjects: readonly string[]) => {
    for (const it of subjects) unconfirmed.add(it)
    committed(subjects)
  }
  const writes = new Writes(connections, { payloadOf, committed, unknown })
  let closed = false
  const running = new Set<Promise<unknown>>()
  const unlessClosed = <T>(start: () => Promise<T>): Promise<T> => {
    if (closed) return Promise.reject(new StoreUnavailable('the database is closed'))
    const result = start()
    running.add(result)
    const remove = () => running.delete(result)
    result.then(remove, remove)
    return result
  }

  const write: Store['write'] = (op, group) => unlessClosed(() => writes.write(op, group))
  const copies = new PostgresSnapshots({ config, guard, write, payloadOf, notifyListeners })

  return {
    name: 'postgres',
    database: name,

    write,
    read: (op) => unlessClosed(() => reads.read(op)),

    listen(notified, missed) {
      const entry = { notified, missed }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },

    snapshots: copies,

    metrics: connections.metrics,

    holdKeys: (keyIds) => listener.holdKeys(keyIds).catch(orUnusable),

    async close() {
      if (closed) return
      closed = true
      copies.close()
      await Promise.allSettled(running)
      // Idle connections do not keep the process alive until they have ended.
      const awake = setInterval(() => {}, 1_000)
      await Promise.all([listener.close(), connections.close()]).finally(() => clearInterval(awake))
    },
  }
}
