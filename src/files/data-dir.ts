import { join } from 'node:path'

interface User {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly homeDir: string
}

/** Default data folder of the server (RULES.md#data-folder). */
export function defaultDataDir({ env, homeDir }: User): string {
  return join(env.XDG_DATA_HOME || join(homeDir, '.local', 'share'), 'voucherctl')
}

/** Folder with one file for each running server of the user (RULES.md#local-server). */
export function serverRegistryDir({ env, homeDir }: User): string {
  return join(env.XDG_STATE_HOME || join(homeDir, '.local', 'state'), 'voucherctl', 'servers')
}
