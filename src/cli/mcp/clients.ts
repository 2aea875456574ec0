import { statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isMissing, reasonOf } from '../../files/error-code.js'
import { readText } from '../../files/read-file.js'
import { refuseForeignFile, replaceFile } from '../../files/replace-file.js'
import { makeFolder } from '../../files/sync-folder.js'
import { asMembers, type Members, parseObject } from '../../values/json.js'
import { type Failure, fail } from '../failures/failure.js'
import { tryToWrite } from '../host/files.js'
import type { Host } from '../host/host.js'

/** By client: its file in a project, the member that holds the servers, and the prefix that stands for the folder. */
const files = {
  claude: { path: '.mcp.json', member: 'mcpServers', folder: '' },
  cursor: { path: join('.cursor', 'mcp.json'), member: 'mcpServers', folder: '${workspaceFolder}/' },
  vscode: { path: join('.vscode', 'mcp.json'), member: 'servers', folder: '${workspaceFolder}/' },
} as const

export type Client = keyof typeof files
export const clients = Object.keys(files) as Client[]

const NAME = 'voucherctl'

interface Command {
  readonly seed: string | undefined
  readonly profile: string | undefined
  /** True to use paths of this installation, which a file shared by a project must not contain. */
  readonly isInstalled: boolean
}

export function entryOf(host: Host, client: Client, { seed, profile, isInstalled }: Command) {
  const [command = NAME, ...start] = isInstalled ? host.self : shared(host)
  const named = profile === undefined ? [] : ['--profile', profile]
  const path = resolve(host.cwd, seed ?? '')
  const inProject = files[client].folder + relative(host.cwd, path).replaceAll(sep, '/')
  const seeded = seed === undefined ? [] : ['--seed', isInstalled ? path : inProject]
  return { command, args: [...start, 'mcp', 'serve', ...named, ...seeded] }
}

/** Returns a command that works on every machine; npx is used only for a released version, which a registry has. */
function shared(host: Host): readonly string[] {
  const { version, released } = JSON.parse(host.document('package.json')) as Partial<Record<string, string>>
  return isOnPath(host) || released !== version ? [NAME] : ['npx', '-y', `${NAME}@${version}`]
}

/** True if a client finds the command on PATH. Skips folders of packages, which npm adds only while it runs a script. */
export const isOnPath = ({ env: { PATH = '' } }: Pick<Host, 'env'>) =>
  PATH.split(delimiter)
    .filter((it) => isAbsolute(it) && !/[\\/]node_modules[\\/]/.test(it))
    .some((it) => statSync(join(it, NAME), { throwIfNoEntry: false })?.isFile())

export const configurationOf = (client: Client, entry: object) => ({ [files[client].member]: { [NAME]: entry } })

export const pathOf = ({ cwd }: Pick<Host, 'cwd'>, client: Client) => join(cwd, files[client].path)

/** Reads the entry of a client's configuration; undefined without one, a failure for a file that does not parse. */
export function readEntry(host: Pick<Host, 'cwd'>, client: Client): Members | Failure | undefined {
  const read = readConfiguration(pathOf(host, client))
  if (!read.ok) return read
  return asMembers(asMembers(read.value[files[client].member])?.[NAME])
}

/** Merges the entry into a client's configuration, keeping all else. Also returns a command that it replaces. */
export function mergeEntry(host: Pick<Host, 'cwd'>, client: Client, entry: ReturnType<typeof entryOf>) {
  const path = pathOf(host, client)
  const read = readConfiguration(path)
  if (!read.ok) return read
  const { member } = files[client]
  const servers = asMembers(read.value[member] ?? {})
  const before = servers && asMembers(servers[NAME] ?? {})
  const { type = 'stdio' } = before ?? {}
  if (before === undefined || type !== 'stdio' || ['url', 'serverUrl', 'httpUrl'].some((it) => it in before))
    return fail('INVALID_INPUT', `${path} is unchanged: ${member} or its ${NAME} has another form.`, BY_HAND)
  const merged = { ...read.value, [member]: { ...servers, [NAME]: { ...before, ...entry } } }
  const content = `${JSON.stringify(merged, null, read.indent)}\n`.replaceAll('\n', read.end)
  const { command, args } = before
  const isChanged = servers?.[NAME] != null && JSON.stringify([command, args]) !== JSON.stringify(Object.values(entry))
  return { ok: true as const, content, replaced: isChanged ? [command, args].flat().join(' ') : undefined }
}

/** Writes a client's file and keeps its mode. Refuses a file that is read-only or belongs to another user. */
export const writeFile = (path: string, content: string): Failure | undefined =>
  tryToWrite(path, BY_HAND, () => {
    refuseForeignFile(path)
    // Check the mode: root could write even to a read-only file.
    if (((statSync(path, { throwIfNoEntry: false })?.mode ?? 0o200) & 0o200) === 0)
      throw Object.assign(new Error('The file is read-only'), { code: 'EACCES' })
    makeFolder(dirname(path), 0o777)
    replaceFile(path, content, { isPrivate: false })
  })

const BY_HAND = 'Run the command without --write, and add the printed entry by hand.'

function readConfiguration(path: string) {
  let text: string
  try {
    text = readText(path)
  } catch (error) {
    if (isMissing(error)) return { ok: true as const, value: {} as Members, indent: '  ', end: '\n' }
    return fail('FILE_UNREADABLE', `${path} cannot be read${reasonOf(error)}.`, BY_HAND)
  }
  const value = parseObject(text)
  // Comments, a repeated name or a number that JavaScript rounds would be lost.
  const written = text.trim().replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
  if (value === undefined || JSON.stringify(value) !== written)
    return fail('INVALID_INPUT', `${path} is unchanged, because it is not plain JSON.`, BY_HAND)
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  '
  return { ok: true as const, value, indent, end: text.includes('\r\n') ? '\r\n' : '\n' }
}
