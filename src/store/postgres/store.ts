import { randomUUID } from 'node:crypto'
import { type Store, StoreUnavailable } from '../store.js'
import { Listener } from './listen.js'
import { migratePostgres, unusable } from './migrate.js'
import { Connections } from './pool.js'
import { Reads } from './reads.js'
import { connectionOf, type PostgresSettings } from './settings.js'
import { Writes } from './writes.js'

/** Channels belong to a database: programs beside this one have others. */
const CHANNEL = 'voucherctl_notices'

/**
 * Opens a PostgreSQL database that any number of processes share, and brings its schema up to date. See README.md.
 * @throws StoreUnusable with what to do
 */
export async function openPostgresStore(settings: PostgresSettings): Promise<Store> {
  const { config, name } = await connectionOf(settings)
  await migratePostgres(config, name)

  const listeners = new Set<{ told: (subject: string) => void; missed: (() => void) | undefined }>()
  const tell = (subject: string) => {
    for (const { told } of listeners) told(subject)
  }
  // Notices of this process are told when its commit is answered, not when they come round.
  const self = randomUUID()
  const listener = new Listener(config, CHANNEL, {
    payload(text) {
      const [from, subject] = [text.slice(0, self.length), text.slice(self.length + 1)]
      if (from !== self) tell(subject)
    },
    missed() {
      for (const { missed } of listeners) missed?.()
    },
  })
  const orUnusable = (error: unknown): never => {
    throw unusable(error, name)
  }
  await listener.open().catch(orUnusable)

  const connections = new Connections(config)
  const reads = new Reads(connections)
  const writes = new Writes(connections, {
    channel: CHANNEL,
    payloadOf: (subject) => `${self} ${subject}`,
    told: (subjects) => {
      for (const subject of subjects) tell(subject)
    },
  })
  let closed = false
  const closedAlready = () => Promise.reject(new StoreUnavailable('the database is closed'))

  return {
    name: 'postgres',

    write: (op, shared) => (closed ? closedAlready() : writes.write(op, shared)),
    read: (op) => (closed ? closedAlready() : reads.read(op)),

    listen(told, missed) {
      const entry = { told, missed }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },

    holdKeys: (keyIds) => listener.holdKeys(keyIds).catch(orUnusable),

    async close() {
      if (closed) return
      closed = true
      await Promise.all([writes.drained(), reads.drained()])
      await Promise.all([listener.close(), connections.close()])
    },
  }
}
