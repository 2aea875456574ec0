import { type Durability, readDurability } from '../server/database-url.js'
import { bad, type Finding, ok, warn } from './check.js'

/** Checks whether the settings of PostgreSQL may lose acknowledged calls (src/store/README.md). */
export async function checkDatabase(url: string): Promise<Finding> {
  const read = await readDurability(url)
  return 'code' in read ? bad(read.message, 'Check --database-url.') : durabilityOf(read)
}

export function durabilityOf({ database, isStandby, fsync, synchronousCommit, standbys }: Durability): Finding {
  if (isStandby) return warn(`${database} is a standby.`, 'Name the primary: servers refuse a standby.')
  const found: [message: string, fix: string][] = []
  const switchOn = (setting: string) => `alter system set ${setting} = 'on'`
  if (fsync === 'off') found.push(['fsync is off: a crash of the machine may damage the database.', switchOn('fsync')])
  if (synchronousCommit === 'off')
    found.push(['synchronous_commit is off: a crash loses acknowledged calls.', switchOn('synchronous_commit')])
  if (standbys === '' || synchronousCommit === 'local')
    found.push([
      'Commits wait for no standby: a failover loses acknowledged calls.',
      'name a standby in synchronous_standby_names, with synchronous_commit on',
    ])
  if (found.length === 0) return ok(`${database} waits for its disk and a standby.`)
  const fixes = found.map(([, fix]) => fix).join('; ')
  return warn(`${database}: ${found.map(([message]) => message).join(' ')}`, `In psql: ${fixes}.`)
}
