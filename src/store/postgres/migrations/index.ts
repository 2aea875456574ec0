import { initial } from './0001-initial.js'
import { bots } from './0002-bots.js'
import { backlogs } from './0003-backlogs.js'
import { confirmedSessions } from './0004-confirmed-sessions.js'

/** In their order; the schema version is how many have run. Forward only: a released one never changes. */
export const migrations: readonly { readonly name: string; readonly sql: string }[] = [
  { name: '0001-initial', sql: initial },
  { name: '0002-bots', sql: bots },
  { name: '0003-backlogs', sql: backlogs },
  { name: '0004-confirmed-sessions', sql: confirmedSessions },
]
