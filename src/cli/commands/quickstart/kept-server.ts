import { existsSync } from 'node:fs'
import { parseBaseUrl } from '../../../client/base-url.js'
import { webhook } from '../../../contract/webhook.js'
import { defaultDataDir } from '../../../files/data-dir.js'
import type { Context } from '../../command/context.js'
import { changeProfile, checkConfigWritable, configFile, findProfile } from '../../config/config.js'
import { prepareDataFolder } from '../../config/data-folder.js'
import { bindTo, findLocalServer } from '../../config/local-server.js'
import { type Failure, fail } from '../../failures/failure.js'
import { readFlags } from '../../flags/flags.js'
import type { StartedServer, Walkthrough } from './walkthrough.js'

/** Profile in which --keep stores the credentials. */
export const PROFILE = 'quickstart'

/** Starts a server in the background, in a folder of its own; the server continues after the walkthrough. */
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
  if (!started.ok) return started
  const { base_url: baseUrl, pid, operator_key_file: operatorKeyFile } = started.data
  return {
    ok: true,
    facts: { baseUrl, dataDir: dir, operatorKeyFile },
    keep: async (walkthrough) => {
      await removeWebhook(walkthrough)
      return storeProfile(context, walkthrough, baseUrl, dir)
    },
    remove: async () => {
      const { rm } = await import('node:fs/promises')
      const { terminate } = await import('../server/control.js')
      await terminate(host, { pid })
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** The receiver ends with the walkthrough, so remove the webhook: without one the bot can be polled. */
async function removeWebhook(walkthrough: Walkthrough): Promise<void> {
  const { botId } = walkthrough
  if (botId === undefined) throw new Error('the walkthrough must have made a bot')
  await walkthrough.run(webhook.delete, {
    title: 'The webhook, removed with its receiver',
    command: `voucherctl webhook delete ${botId} --yes`,
    input: { botId },
    describe: (it) => `the bot is in ${it.delivery_mode} mode`,
  })
}

async function storeProfile(
  { host, output }: Context,
  { credentials }: Walkthrough,
  baseUrl: string,
  dir: string,
): Promise<Failure | undefined> {
  output.notice(`note: the credentials are stored in plain text, readable by you alone, in ${configFile(host)}`)
  const { origin } = parseBaseUrl(baseUrl)
  const stored = (['jwt', 'token', 'bot'] as const).flatMap((kind) => {
    const value = credentials.get(kind)
    return value === undefined ? [] : [[kind, { value, origin }] as const]
  })
  const profile = { base_url: baseUrl, account: 'demo', data_dir: dir, credentials: Object.fromEntries(stored) }
  const server = findLocalServer(dir)
  return changeProfile(host, PROFILE, () => (server === undefined ? profile : bindTo(host, profile, server)))
}
