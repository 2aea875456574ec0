import { existsSync } from 'node:fs'
import { parseBaseUrl } from '../../../client/base-url.js'
import { credentialVariables } from '../../../contract/secrets.js'
import { defaultDataDir } from '../../../files/data-dir.js'
import type { Context } from '../../command/context.js'
import { changeProfile, checkConfigWritable, configFile, findProfile } from '../../config/config.js'
import { prepareDataFolder } from '../../config/data-folder.js'
import { bindTo, findLocalServer } from '../../config/local-server.js'
import { type Failure, fail } from '../../failures/failure.js'
import { readFlags } from '../../flags/flags.js'

/** Profile in which --keep stores the credentials. */
export const PROFILE = 'quickstart'

export const interrupted = fail('ABORTED', 'Interrupted.')

/** The server of a quickstart. */
export interface StartedServer {
  readonly ok: true
  readonly facts: { readonly baseUrl: string; readonly dataDir: string; readonly operatorKeyFile: string | null }
  /** Runs after all steps succeeded. @param environment credentials by name of the environment variable */
  keep?(environment: Readonly<Record<string, string>>): Promise<Failure | undefined>
  /** Stops the server and removes its data. */
  remove(): Promise<void>
}

/** Starts a server in the background, in its own folder; the server continues after the walkthrough. */
export async function startKeptServer(context: Context, webhookPort: number): Promise<StartedServer | Failure> {
  const { host, settings } = context
  const dir = `${defaultDataDir(host)}-quickstart`
  if (existsSync(dir) || findProfile(settings.config, PROFILE) !== undefined) {
    return fail(
      'STORE_NOT_EMPTY',
      `An earlier quickstart was kept in ${dir}, with the profile ${PROFILE}.`,
      `Go on with it: \`voucherctl server status -p ${PROFILE}\`. To begin again: \`voucherctl server stop -p ${PROFILE}\`, \`voucherctl profiles remove ${PROFILE} --yes\`, and remove the folder.`,
    )
  }
  const unwritable = await checkConfigWritable(host)
  if (unwritable !== undefined) return unwritable
  const folder = prepareDataFolder(dir, false)
  if (!folder.ok) return folder
  const { startFlags } = await import('../server/start-flags.js')
  const { startDetached } = await import('../server/detach.js')
  const given = new Map([
    ['port', ['0']],
    // So that `scenario record --from activity` can make a scenario of the walkthrough.
    ['inspect', ['']],
    ['dev-webhook-loopback', [String(webhookPort)]],
  ])
  const flags = readFlags(startFlags, given).values as Parameters<typeof startDetached>[1]
  const started = await startDetached(host, flags, dir)
  if (!started.ok && host.signal.aborted) {
    // The server has ended, and its folder would refuse the next quickstart.
    const { rm } = await import('node:fs/promises')
    await rm(dir, { recursive: true, force: true })
    return interrupted
  }
  if (!started.ok) return started
  const { base_url: baseUrl, pid, operator_key_file: operatorKeyFile } = started.data
  return {
    ok: true,
    facts: { baseUrl, dataDir: dir, operatorKeyFile },
    keep: (environment) => storeProfile(context, environment, baseUrl, dir),
    remove: async () => {
      const { rm } = await import('node:fs/promises')
      const { terminate } = await import('../server/control.js')
      await terminate(host, { pid })
      await rm(dir, { recursive: true, force: true })
    },
  }
}

async function storeProfile(
  { host, output }: Context,
  environment: Readonly<Record<string, string>>,
  baseUrl: string,
  dir: string,
): Promise<Failure | undefined> {
  output.notice(`note: the credentials are stored in plain text, readable by you alone, in ${configFile(host)}`)
  const { origin } = parseBaseUrl(baseUrl)
  const stored = (['jwt', 'token', 'bot'] as const).flatMap((kind) => {
    const value = environment[credentialVariables[kind]]
    return value === undefined ? [] : [[kind, { value, origin }] as const]
  })
  const profile = { base_url: baseUrl, account: 'demo', data_dir: dir, credentials: Object.fromEntries(stored) }
  const server = findLocalServer(dir)
  return changeProfile(host, PROFILE, () => (server === undefined ? profile : bindTo(host, profile, server)))
}
