import { resolve } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import type { ExportReport } from '../../../server/maintenance/export.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { failureOfServer } from '../../failures/codes.js'
import { usage } from '../../failures/failure.js'
import { path, text } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { numberText } from '../../output/text.js'
import { databaseUrlFlag } from './database-url.js'
import { dataFlag } from './folder.js'
import { countsOf, placeOf, watched } from './move.js'

export const exportStore = leaf({
  name: 'export',
  summary: 'Write all that a store holds into one file, as a backup or to move it',
  notes: [
    'Of PostgreSQL it is one snapshot, taken while servers go on. Of SQLite the server must be stopped.',
    'The file is NDJSON, readable by you alone: a header, one line a row, and counts and SHA-256 at the end. It gets its name when it is complete. `voucherctl server import` takes it, on the same engine or the other.',
    'It holds what the database holds: tokens, codes and secrets as hashes or sealed, names, texts and metadata as they are. The keys are not in it: keep keys.json of the data folder, or the --key-file, in another place. Without them no voucher of the export can be verified.',
    'Short-lived records are left out: encrypted sessions, open polls, leases. A delivery that is under way goes out again after an import.',
  ],
  flags: {
    out: text('FILE|-', 'File to write; - is stdout, the default unless it is a terminal'),
    ...dataFlag,
    ...databaseUrlFlag,
    'key-file': path('FILE', 'Credential keys of a SQLite store, where they are not in its folder'),
  },
  examples: [
    {
      command: 'voucherctl server export --out backup.ndjson',
      comment: 'Of the local data folder, its server stopped',
    },
    {
      command: 'voucherctl server export --database-url postgres://db/shop | gzip > backup.gz',
      comment: 'While servers run on it',
    },
  ],
  changes: true,
  view: {
    headline: ({ total, store }: ExportReport) => `Exported ${numberText(total)} rows of ${store}.`,
    body: countsOf,
    next: () => 'The keys are not in it: keep keys.json, or the --key-file, in another place.',
  },
  run: async (context, { flags }): Promise<Outcome<ExportReport>> => {
    const { host, globals, output } = context
    const toStdout = (flags.out ?? '-') === '-'
    if (flags.out === undefined && host.stdout.isTTY === true)
      return usage('The export would go to this terminal.', 'Name a file with --out FILE, or --out - to see it here.')
    if (toStdout && (globals.fields !== undefined || globals.jq !== undefined))
      return usage('--fields and --jq are for the summary of an export that goes to a file.', 'Name one with --out.')
    const found = placeOf(context, flags)
    if (!found.ok) return found
    const { place } = found
    if (context.dryRun) {
      const store = place.databaseUrl === undefined ? place.dataDir : 'PostgreSQL'
      return context.plan(`export the store of ${store} to ${toStdout ? 'standard output' : flags.out}`)
    }
    const to = toStdout ? stdoutOf(context) : { path: resolve(host.cwd, flags.out as string) }
    const server = await import('../../../server/maintenance/export.js')
    try {
      const data = await watched(context, (onProgress) =>
        server.exportStore(place, { version: host.version(), to, signal: host.signal, onProgress }),
      )
      if (!toStdout) return { ok: true, data }
      if (host.stderr.isTTY === true) output.notice(`Exported ${numberText(data.total)} rows of ${data.store}.`)
      return { ok: true, printed: true }
    } catch (error) {
      return failureOfServer(error)
    }
  },
})

/** Writes a backup to stdout. Fails if the reader closes the pipe, because the backup is then incomplete. */
function stdoutOf({ host, output }: Context) {
  return {
    async write(text: string) {
      if (await output.write(text)) return
      const reason = codeOf(host.stdout.gone?.reason)
      const message = `Standard output was closed before the export was complete (${reason}).`
      throw Object.assign(new Error(message), { code: 'FILE_UNWRITABLE' })
    },
  }
}
