import type { MovePlace } from '../../../server/maintenance/move-place.js'
import { defined } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { refuseOpenKeyFile } from '../../config/data-folder.js'
import { isGivenForCall } from '../../config/settings.js'
import { type Failure, usage } from '../../failures/failure.js'
import { numberText } from '../../output/text.js'
import { readDatabaseUrl } from './database-url.js'
import { addressOf, serverFolder } from './folder.js'

interface PlaceFlags {
  readonly data: string | undefined
  readonly 'database-url': string | undefined
  readonly 'key-file': string | undefined
}

/** Returns the store and key files that the flags select, as source or destination of a move. */
export function placeOf(context: Context, flags: PlaceFlags): { ok: true; place: MovePlace } | Failure {
  const database = readDatabaseUrl(context.host, flags['database-url'])
  if (!database.ok) return database
  const { 'key-file': keyFile } = flags
  const openKeys = keyFile === undefined ? undefined : refuseOpenKeyFile(keyFile)
  if (openKeys !== undefined) return openKeys
  const { profile, profileName } = context.settings
  const isNamed = flags.data !== undefined || database.value !== undefined || profile.data_dir !== undefined
  const address = isNamed || !isGivenForCall(profileName) ? undefined : addressOf(context.settings)
  if (address !== undefined) {
    return usage(
      `Profile ${profileName.value} names ${address}, and no data folder.`,
      'Name the folder with --data DIR.',
    )
  }
  const folder = serverFolder(context, flags.data)
  if (!folder.ok) return folder
  return { ok: true, place: { dataDir: folder.dir, ...defined({ databaseUrl: database.value, keyFile }) } }
}

export function countsOf({ rows }: { readonly rows: Readonly<Record<string, number>> }): string {
  const counts = Object.entries(rows).map(([name, count]) => [name, numberText(count)] as const)
  const width = Math.max(0, ...counts.map(([name]) => name.length))
  const digits = Math.max(0, ...counts.map(([, count]) => count.length))
  return counts.map(([name, count]) => `  ${name.padEnd(width)}  ${count.padStart(digits)}`).join('\n')
}

export async function watched<T>(
  context: Context,
  work: (onProgress: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const { showProgress } = await import('../../bulk/show-progress.js')
  const tally = { total: null as number | null, earlier: 0, done: 0, replayed: 0, skipped: 0, failed: 0 }
  const end = showProgress(context, tally, { pauseMs: 0 })
  try {
    return await work((done, total) => {
      tally.done = done
      tally.total = total
    })
  } finally {
    end()
  }
}
