import { statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isMissing, reasonOf } from '../../../files/error-code.js'
import { readText } from '../../../files/read-file.js'
import { refuseForeignFile, replaceFile } from '../../../files/replace-file.js'
import { makeFolder } from '../../../files/sync-folder.js'
import { asMembers, type Members, parseObject } from '../../../values/json.js'
import { type Failure, fail } from '../../failures/failure.js'
import { tryToWrite } from '../../host/files.js'
import type { Host } from '../../host/host.js'

/** File of a client in the folder of a project, the member that holds the servers, and what it calls the folder. */
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
  /** True for the paths of this installation, which a file that a project shares must not have. */
  readonly isInstalled: boolean
}

/** Returns the entry of a client's configuration that starts `mcp serve`. */
export function entryOf(host: Host, client: Client, { seed, profile, isInstalled }: Command) {
  const [command = NAME, ...start] = isInstalled ? host.self : shared(host)
  const named = profile === undefined ? [] : ['--profile', profile]
  const path = resolve(host.cwd, seed ?? '')
  const inProject = files[client].folder + relative(host.cwd, path).replaceAll(sep, '/')
  const seeded = seed === undefined ? [] : ['--seed', isInstalled ? path : inProject]
  return { command, args: [...start, 'mcp', 'serve', ...named, ...seeded] }
}

/** The command as every member of a project can run it: npx runs only a version that the registry has. */
function shared(host: Host): readonly string[] {
  const { version, released } = JSON.parse(host.document('package.json')) as Partial<Record<string, string>>
  return isOnPath(host) || released !== version ? [NAME] : ['npx', '-y', `${NAME}@${version}`]
}

/** True if a client finds the command on PATH. npm adds folders of packages for a run of its own. */
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

/** Merges the entry into a client's configuration, in which all else stays. Returns also a command that it replaces. */
export function mergeEntry(host: Pick<Host, 'cwd'>, client: Client, entry: ReturnType<typeof entryOf>) {
  const path = pathOf(host, client)
  const read = readConfiguration(path)
  if (!read.ok) return read
  const { member } = files[client]
  const servers = asMembers(read.value[member] ?? {})
  const before = servers && asMembers(servers[NAME] ?? {})
  if (before === undefined || 'url' in before)
    return fail('INVALID_INPUT', `${path} was left alone: ${member} or its ${NAME} has another form.`, BY_HAND)
  const merged = { ...read.value, [member]: { ...servers, [NAME]: { ...before, ...entry } } }
  const content = `${JSON.stringify(merged, null, read.indent)}\n`.replaceAll('\n', read.end)
  const { command, args } = before
  const isChanged = servers?.[NAME] != null && JSON.stringify([command, args]) !== JSON.stringify(Object.values(entry))
  return { ok: true as const, content, replaced: isChanged ? [command, args].flat().join(' ') : undefined }
}

/** Writes a client's file, unless it is read-only or of another user. It keeps its mode. */
export const writeFile = (path: string, content: string): Failure | undefined =>
  tryToWrite(path, BY_HAND, () => {
    refuseForeignFile(path)
    // Root may write to every file.
    if (((statSync(path, { throwIfNoEntry: false })?.mode ?? 0o200) & 0o200) === 0)
      throw Object.assign(new Error('The file is read-only'), { code: 'EACCES' })
    makeFolder(dirname(path), 0o777)
    replaceFile(path, content, { isPrivate: false })
  })

const BY_HAND = 'Leave --write out, and add what is printed by hand.'

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
    return fail('INVALID_INPUT', `${path} is not plain JSON, and was left alone.`, BY_HAND)
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  '
  return { ok: true as const, value, indent, end: text.includes('\r\n') ? '\r\n' : '\n' }
}
