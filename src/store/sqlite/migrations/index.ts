import { initial } from './0001-initial.js'
import { bots } from './0002-bots.js'
import { backlogs } from './0003-backlogs.js'
import { confirmedSessions } from './0004-confirmed-sessions.js'

/** In their order; the schema version is how many have run. Forward only: a released one never changes. */
export const migrations: readonly string[] = [initial, bots, backlogs, confirmedSessions]
