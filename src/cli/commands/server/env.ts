import { redact } from '../../../contract/secrets.js'
import type { Seed } from '../../../server/seed/schema.js'
import { shellWord } from '../../../values/shell-word.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { findStored } from '../../config/credentials.js'
import { findLocalServer } from '../../config/local-server.js'
import { type Failure, usage } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import { credentialNames, credentialVariables } from '../../host/secrets.js'
import type { Outcome } from '../../output/outcome.js'
import { readSeedFile, seedFlag } from '../../server/seed-file.js'
import { addressOf, dataFlag, notRunning, serverFolder } from './folder.js'

type Variables = Readonly<Record<string, string>>

type Kind = keyof typeof credentialNames

type Found = { readonly ok: true; readonly source: string; readonly values: Partial<Record<Kind, string>> } | Failure

export const env = leaf({
  name: 'env',
  summary: 'Print export lines for a shell: base URL and credentials',
  notes: [
    'The credentials come from the seed file: its first application token and its first bot token. Without --seed they come from the profile, if it holds some for this server. None comes from the store, which holds no credential in plain text.',
    'The output is secret: on a terminal it needs --show-secrets.',
  ],
  flags: {
    ...seedFlag,
    ...dataFlag,
    'show-secrets': toggle('Print credentials on a terminal'),
  },
  examples: [
    { command: 'eval "$(voucherctl server env --seed seed.yaml)"', comment: 'In the shell of a test' },
    {
      command: `voucherctl server env --seed seed.yaml --jq 'to_entries[] | "\\(.key)=\\(.value)"' >> "$GITHUB_ENV"`,
      comment: 'For the later steps of a workflow',
    },
  ],
  view: {
    body: (variables: Variables) =>
      Object.entries(variables)
        .map(([name, value]) => `export ${name}=${shellWord(value)}`)
        .join('\n'),
  },
  run: async (context, { flags }): Promise<Outcome<Variables>> => {
    const { host, output } = context
    const base = baseUrlOf(context, flags)
    if (!base.ok) return base
    const found = flags.seed === undefined ? await ofProfile(context, base.value) : await ofSeed(context, flags.seed)
    if (!found.ok) return found
    const { source, values } = found
    const kinds = (Object.keys(credentialVariables) as Kind[]).filter((it) => values[it] !== undefined)
    const names = kinds.map((it) => credentialNames[it]).join(', ')
    if (kinds.length > 0 && host.stdout.isTTY === true && !flags['show-secrets'] && !context.dryRun) {
      return usage(
        `This would show credentials of ${source} on the terminal: ${names}.`,
        `To show them: \`${context.line} --show-secrets\`. A shell reads them unseen with eval "$(…)".`,
      )
    }
    if (kinds.length > 0 && !context.dryRun) output.warn(`The output holds credentials of ${source}: ${names}.`)
    const shown = (secret = '') => (context.dryRun ? redact(secret) : secret)
    const variables = kinds.map((it) => [credentialVariables[it], shown(values[it])])
    return { ok: true, data: { VOUCHERCTL_BASE_URL: base.value, ...Object.fromEntries(variables) } }
  },
})

/**
 * The server of --data, or of the data folder if a seed is given, because an earlier run of this command may have set
 * VOUCHERCTL_BASE_URL. Otherwise the server that other commands call.
 */
function baseUrlOf(context: Context, { seed, data }: { seed: string | undefined; data: string | undefined }) {
  const isNamed = data !== undefined
  if (!isNamed && (seed === undefined || context.globals['base-url'] !== undefined)) return context.baseUrl()
  const named = isNamed ? undefined : addressOf(context.settings)
  if (named !== undefined) return { ok: true as const, value: named }
  const folder = serverFolder(context, data)
  const server = folder.ok ? findLocalServer(folder.dir) : undefined
  if (server !== undefined) return { ok: true as const, value: server.base_url }
  if (!isNamed) return context.baseUrl()
  return folder.ok ? notRunning(context, folder.dir) : folder
}

async function ofProfile({ host, globals, settings }: Context, baseUrl: string): Promise<Found> {
  const values: Partial<Record<Kind, string>> = {}
  for (const kind of Object.keys(credentialNames) as Kind[]) {
    const stored = await findStored(host, globals, settings, kind, baseUrl)
    if (stored?.ok === false) return stored
    if (stored !== undefined) values[kind] = stored.value
  }
  return { ok: true, source: `profile ${settings.profileName.value}`, values }
}

async function ofSeed({ host }: Context, path: string): Promise<Found> {
  const read = await readSeedFile(host, path)
  return read.ok ? { ok: true, source: path === '-' ? 'the seed' : path, values: credentialsOf(read.seed) } : read
}

export function credentialsOf({ applications = [], bots = [] }: Seed): Partial<Record<Kind, string>> {
  const token = applications.flatMap(({ tokens = [] }) => tokens)[0]?.token
  const bot = bots.find((it) => it.token !== undefined)?.token
  return { ...(token === undefined ? {} : { token }), ...(bot === undefined ? {} : { bot }) }
}
