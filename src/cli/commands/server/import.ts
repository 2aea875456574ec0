import { dirname } from 'node:path'
import { defaultDataDir } from '../../../files/data-dir.js'
import type { ImportReport } from '../../../server/maintenance/import.js'
import type { MovePlace } from '../../../server/maintenance/move-place.js'
import type { BulkInput } from '../../bulk/input/input.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { prepareDataFolder } from '../../config/data-folder.js'
import { failureOfServer } from '../../failures/codes.js'
import { suggested } from '../../failures/failure.js'
import { path } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { numberText, rows } from '../../output/text.js'
import { databaseUrlFlag } from './database-url.js'
import { dataFlag } from './folder.js'
import { countsOf, placeOf, watched } from './move.js'

export const importStore = leaf({
  name: 'import',
  summary: 'Fill an empty store with what `server export` has written',
  notes: [
    'All of it or nothing, in one transaction: a file that is cut off or changed anywhere is refused with its line, and every row is read back and compared before it counts. No server can start on the store meanwhile.',
    'The store must be empty: a new data folder, or a new PostgreSQL database that no server has been started on. Either engine takes the export of either.',
    'First bring the keys, which are not in the export: copy keys.json of the server that it comes from into the data folder, or name it with --key-file. Other keys are refused before anything is written.',
    '--dry-run reads the file to its end and checks what the import needs: an empty store, permissions and keys. It exits with the code of the import.',
  ],
  positional: { name: 'FILE', summary: 'The export, or - for standard input', ask: 'File' },
  flags: {
    ...dataFlag,
    ...databaseUrlFlag,
    'key-file': path('FILE', 'Credential keys from this path instead of the data folder'),
  },
  examples: [
    { command: 'voucherctl server import backup.ndjson --dry-run', comment: 'Check a backup' },
    {
      command: 'voucherctl server import backup.ndjson --database-url postgres://db/shop',
      comment: 'From SQLite to PostgreSQL, with keys.json in the data folder',
    },
    'gunzip -c backup.gz | voucherctl server import - --data restored',
  ],
  changes: true,
  view: {
    headline: ({ total, store, exported_at }: ImportReport) =>
      store === null
        ? `The export of ${exported_at} is complete and can be imported: ${numberText(total)} rows. Nothing was changed.`
        : `Imported ${numberText(total)} rows into ${store}.`,
    body: (it: ImportReport) => (it.checks ? `${rows(Object.entries(it.checks)).join('\n')}\n\n` : '') + countsOf(it),
    next: ({ store: it }) =>
      it?.endsWith('.db') ? `Next: ${suggested`server start --data ${dirname(it)}`}` : undefined,
  },
  run: async (context, { positional, flags }): Promise<Outcome<ImportReport>> => {
    const found = placeOf(context, flags)
    if (!found.ok) return found
    const { openInput } = await import('../../bulk/input/input.js')
    const opened = await openInput(context.host, positional)
    if (!opened.ok) return opened
    try {
      return await importFrom(context, opened.input, found.place)
    } finally {
      await opened.input.close()
    }
  },
})

async function importFrom(context: Context, input: BulkInput, place: MovePlace): Promise<Outcome<ImportReport>> {
  const { host, dryRun, output } = context
  const isNamed = place.dataDir !== defaultDataDir(host)
  const isFolder = place.databaseUrl === undefined
  const folder = isFolder ? prepareDataFolder(place.dataDir, isNamed, !dryRun) : { ok: true as const, warnings: [] }
  if (!folder.ok) return folder
  const server = await import('../../../server/maintenance/import.js')
  const { name } = input
  try {
    const data = await watched(context, (onProgress) => {
      const options = { name, signal: host.signal, onProgress }
      return (dryRun ? server.checkImport : server.importStore)(place, input.chunks(), options)
    })
    for (const it of folder.warnings) output.notice(`warning: ${it}`)
    return dryRun ? { ok: true, data, reads: true } : { ok: true, data }
  } catch (error) {
    return failureOfServer(error)
  }
}
