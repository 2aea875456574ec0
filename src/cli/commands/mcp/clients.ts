import { dirname, join, resolve } from 'node:path'
import { isMissing, reasonOf } from '../../../files/error-code.js'
import { readText } from '../../../files/read-file.js'
import { replaceFile } from '../../../files/replace-file.js'
import { makeFolder } from '../../../files/sync-folder.js'
import { asMembers, type Members, parseObject } from '../../../values/json.js'
import { type Failure, fail } from '../../failures/failure.js'
import { tryToWrite } from '../../host/files.js'
import type { Host } from '../../host/host.js'

/** Configuration file of a client in the folder of a project, and the member that holds the servers. */
const files = {
  claude: { path: '.mcp.json', member: 'mcpServers' },
  cursor: { path: join('.cursor', 'mcp.json'), member: 'mcpServers' },
  vscode: { path: join('.vscode', 'mcp.json'), member: 'servers' },
} as const

export type Client = keyof typeof files
export const clients = Object.keys(files) as Client[]

const NAME = 'voucherctl'

interface Command {
  readonly seed: string | undefined
  readonly profile: string | undefined
  /** True for the path of this installation in place of npx. */
  readonly isInstalled: boolean
}

/** Returns the entry of a client's configuration that starts `mcp serve`. */
export function entryOf({ self, cwd }: Pick<Host, 'self' | 'cwd'>, { seed, profile, isInstalled }: Command) {
  const [command, ...start] = isInstalled ? self : ['npx', '-y', NAME]
  const named = profile === undefined ? [] : ['--profile', profile]
  const seeded = seed === undefined ? [] : ['--seed', resolve(cwd, seed)]
  return { command, args: [...start, 'mcp', 'serve', ...named, ...seeded] }
}

export const configurationOf = (client: Client, entry: object) => ({ [files[client].member]: { [NAME]: entry } })

export const pathOf = ({ cwd }: Pick<Host, 'cwd'>, client: Client) => join(cwd, files[client].path)

/** Reads the entry of a client's configuration; undefined without one, a failure for a file that does not parse. */
export function readEntry(host: Pick<Host, 'cwd'>, client: Client): Members | Failure | undefined {
  const read = readConfiguration(pathOf(host, client))
  if (!read.ok) return read
  return asMembers(asMembers(read.value[files[client].member])?.[NAME])
}

/** Merges the entry into a client's configuration. Other members and their order stay. */
export function writeEntry(host: Pick<Host, 'cwd'>, client: Client, entry: object): Failure | undefined {
  const path = pathOf(host, client)
  const read = readConfiguration(path)
  if (!read.ok) return read
  const { member } = files[client]
  const before = asMembers(read.value[member] ?? {})
  if (before === undefined)
    return fail('INVALID_INPUT', `${path} was left alone: its ${member} is not an object.`, BY_HAND)
  const servers = { ...before, [NAME]: entry }
  const content = `${JSON.stringify({ ...read.value, [member]: servers }, null, read.indent)}\n`.replaceAll(
    '\n',
    read.end,
  )
  return tryToWrite(path, BY_HAND, () => {
    makeFolder(dirname(path), 0o777)
    replaceFile(path, content, { isPrivate: false })
  })
}

const BY_HAND = 'Leave --write out, and add what is printed by hand.'

type Configuration =
  | { readonly ok: true; readonly value: Members; readonly indent: string; readonly end: string }
  | Failure

function readConfiguration(path: string): Configuration {
  let text: string
  try {
    text = readText(path)
  } catch (error) {
    if (isMissing(error)) return { ok: true, value: {}, indent: '  ', end: '\n' }
    return fail('FILE_UNREADABLE', `${path} cannot be read${reasonOf(error)}.`, BY_HAND)
  }
  const value = parseObject(text)
  // Comments, a repeated name or a number that JavaScript rounds would be lost.
  const written = text.trim().replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')
  if (value === undefined || JSON.stringify(value) !== written)
    return fail('INVALID_INPUT', `${path} is not plain JSON, and was left alone.`, BY_HAND)
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? '  '
  return { ok: true, value, indent, end: text.includes('\r\n') ? '\r\n' : '\n' }
}
