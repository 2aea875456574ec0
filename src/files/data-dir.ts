import { isAbsolute, join } from 'node:path'

interface User {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly homeDir: string
}

/** Folders below the home folder, unless a variable such as XDG_DATA_HOME names another. */
const usual = { CONFIG: '.config', DATA: join('.local', 'share'), STATE: join('.local', 'state') }

/** The path, unless it is relative or begins with a `~` that no shell replaced (rules/cli.md#folders). */
export const absolute = (path: string | undefined) => (path && isAbsolute(path) ? path : undefined)

export const userFolder = ({ env, homeDir }: User, kind: keyof typeof usual): string =>
  absolute(env[`XDG_${kind}_HOME`]) ?? join(homeDir, usual[kind])

/** Names of the XDG variables whose values are ignored. */
export const ignoredFolders = ({ env }: Pick<User, 'env'>): readonly string[] =>
  Object.keys(usual).flatMap((it) => (absolute(env[`XDG_${it}_HOME`] || '/') ? [] : `XDG_${it}_HOME`))

/** Default data folder of the server (rules/server.md#data-folder). */
export const defaultDataDir = (user: User): string => join(userFolder(user, 'DATA'), 'voucherctl')

/** Folder with one file for each running server of the user (rules/cli.md#local-server). */
export const serverRegistryDir = (user: User): string => join(userFolder(user, 'STATE'), 'voucherctl', 'servers')
