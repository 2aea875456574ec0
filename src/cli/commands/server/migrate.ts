import { leaf } from '../../command/leaf.js'
import { failureOfServer, usage } from '../../failure.js'
import { databaseUrlFlag, databaseUrlVariable, readDatabaseUrl } from './database-url.js'

interface Report {
  readonly database: string
  readonly from: number
  readonly to: number
  readonly applied: boolean
  readonly steps: readonly { readonly name: string; readonly sql: string }[]
}

/** SQL that psql accepts; everything else is a comment in it. */
function shown({ database, from, to, applied, steps }: Report): string {
  if (steps.length === 0) return `-- ${database} has the schema of this version (${to}) already.`
  const names = steps.map(({ name }) => name).join(', ')
  if (applied) return `-- ${database} has had schema ${to} since now: ${names}.`
  return [
    `-- What brings ${database} from schema ${from} to ${to}, in one transaction:`,
    ...steps.map(({ name, sql }) => `-- ${name}\n${sql.trim()}\n`),
  ].join('\n')
}

export const migrate = leaf({
  name: 'migrate',
  summary: 'Bring the schema of a PostgreSQL database up to date',
  notes: [
    'Every start of a server does the same, one at a time however many start at once. With --dry-run it prints the SQL and changes nothing.',
    `The database is named by --database-url or ${databaseUrlVariable}; what the URL leaves out comes from the PG* variables and ~/.pgpass.`,
  ],
  flags: databaseUrlFlag,
  examples: [{ command: 'voucherctl server migrate --dry-run', comment: 'The SQL that would be run' }],
  changes: true,
  view: { body: shown },
  run: async (context, { flags }) => {
    const url = readDatabaseUrl(context.host, flags['database-url'])
    if (!url.ok) return url
    if (url.value === undefined) {
      return usage(
        'No database is named. SQLite is brought up to date by the start of its server.',
        `Name a PostgreSQL database with --database-url or ${databaseUrlVariable}.`,
      )
    }
    const { migrateDatabase } = await import('../../../server/maintenance/migrate.js')
    try {
      const data: Report = await migrateDatabase(url.value, context.dryRun)
      return { ok: true, data }
    } catch (error) {
      return failureOfServer(error)
    }
  },
})
