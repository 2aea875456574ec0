import { platform as contract, KEY_GRACE_MS, type SecureKey } from '../../../contract/platform/platform.js'
import type { MigrationReport } from '../../../server/maintenance/migrate.js'
import type { Context, ContextCallOptions } from '../../command/context.js'
import { type Group, leaf } from '../../command/leaf.js'
import { failureOfServer } from '../../failures/codes.js'
import { fail, usage } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import { sentence } from '../../output/text.js'
import { databaseUrlFlag, databaseUrlVariable, readDatabaseUrl } from './database-url.js'
import { dataFlag, operatorOf } from './folder.js'
import { start } from './start.js'

interface Keys {
  readonly items: readonly SecureKey[]
}

const keyMembers = ['kid', 'state', 'pin', 'activated_at', 'grace_until']
const kidOf = ({ items }: Keys, state: SecureKey['state']) => items.find((it) => it.state === state)?.kid

/** Asks before a rotation, and refuses a second one in the grace period, in which few clients have the next pin yet. */
async function refuseRotation(context: Context, options: ContextCallOptions, isForced: boolean) {
  const listed = await context.call(contract.secureKeys, {}, options)
  if (!listed.ok) return listed
  const of = (state: SecureKey['state'], member: 'pin' | 'grace_until') =>
    sentence(({ items }: Keys) => items.find((it) => it.state === state)?.[member] ?? '', listed.data)
  const end = of('grace', 'grace_until')
  const hint = `Wait until then, and pin ${of('next', 'pin')} in your clients. To rotate now: \`${context.line} --force\``
  if (end && !isForced)
    return fail('KEYS_IN_GRACE', `The keys were rotated a moment ago: the previous key stays valid until ${end}.`, hint)
  const pins = `Valid pins then: ${of('next', 'pin')} until ${KEY_GRACE_MS / 1000} s after the next rotation; ${of('current', 'pin')} until ${new Date(context.output.times.now + KEY_GRACE_MS).toISOString()}, in clients that have already read the key.`
  const { irreversible } = contract.rotateSecureKeys
  return context.confirm({ action: 'Rotating the keys', loses: `${irreversible?.loses} ${pins}` })
}

const keys: Group = {
  name: 'keys',
  alias: 'key',
  summary: 'Keys of the encrypted transport',
  commands: [
    leaf({
      name: 'list',
      endpoint: contract.secureKeys,
      flags: dataFlag,
      notes: [
        'A key is next, then current, then in grace for 120 s, then destroyed. Pin the next one in your clients before you rotate.',
      ],
      examples: [
        'voucherctl server keys list',
        { command: 'voucherctl server keys list --json --fields state,pin', comment: 'What clients pin' },
      ],
      view: { members: keyMembers, key: 'kid' },
      run: async (context, { flags }) => {
        const operator = await operatorOf(context, flags.data)
        return operator.ok ? context.call(contract.secureKeys, {}, operator) : operator
      },
    }),
    leaf({
      name: 'rotate',
      endpoint: contract.rotateSecureKeys,
      alsoCalls: { 'platform.secureKeys': '' },
      flags: { ...dataFlag, force: toggle('Also within the grace period of the last rotation') },
      notes: [
        'Sessions go on with the keys that they have. A client that pins only the current key is refused from now on.',
      ],
      examples: ['voucherctl server keys rotate'],
      run: async (context, { flags }) => {
        const operator = await operatorOf(context, flags.data)
        if (!operator.ok) return operator
        const refusal = context.dryRun ? undefined : await refuseRotation(context, operator, flags.force)
        return refusal ?? context.call(contract.rotateSecureKeys, {}, operator)
      },
      view: {
        headline: (it: Keys) => `Key ${kidOf(it, 'current')} is the current one; ${kidOf(it, 'next')} comes next.`,
        members: keyMembers,
      },
    }),
  ],
}

/** Formats a migration report as SQL for psql, with everything else in SQL comments. */
function shown({ database, from, to, applied, steps }: MigrationReport): string {
  if (steps.length === 0) return `-- ${database} has the schema of this version (${to}) already.`
  const names = steps.map(({ name }) => name).join(', ')
  if (applied) return `-- ${database} has had schema ${to} since now: ${names}.`
  return [
    `-- What brings ${database} from schema ${from} to ${to}, in one transaction:`,
    ...steps.map(({ name, sql }) => `-- ${name}\n${sql.trim()}\n`),
  ].join('\n')
}

const migrate = leaf({
  name: 'migrate',
  summary: 'Bring the schema of a PostgreSQL database up to date',
  notes: [
    'Every start of a server does the same, one at a time however many start concurrently. With --dry-run it prints the SQL and changes nothing.',
    `The database is named by --database-url or ${databaseUrlVariable}; what the URL leaves out comes from the PG* variables and ~/.pgpass.`,
  ],
  flags: databaseUrlFlag,
  examples: [{ command: 'voucherctl server migrate --dry-run', comment: 'Print the SQL' }],
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
      const data = await migrateDatabase(url.value, context.dryRun)
      return { ok: true, data }
    } catch (error) {
      return failureOfServer(error)
    }
  },
})

export const server: Group = {
  name: 'server',
  alias: 'servers',
  summary: 'The bundled reference server',
  // A start should not read the other commands.
  commands: [
    start,
    { name: 'list', load: async () => (await import('./control.js')).list },
    { name: 'env', load: async () => (await import('./env.js')).env },
    { name: 'status', load: async () => (await import('./control.js')).status },
    { name: 'stop', load: async () => (await import('./control.js')).stop },
    { name: 'logs', load: async () => (await import('./logs.js')).logs },
    keys,
    { name: 'openapi', load: async () => (await import('./openapi.js')).openapi },
    migrate,
    { name: 'export', load: async () => (await import('./export.js')).exportStore },
    { name: 'import', load: async () => (await import('./import.js')).importStore },
  ],
}
