import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { defaultDataDir, ignoredFolders } from '../../../files/data-dir.js'
import { codeOf } from '../../../files/error-code.js'
import { configDir, configFile, refuseFolders } from '../../config/config.js'
import { isOwnFile, PRIVATE_FILES } from '../../config/data-folder.js'
import type { SettingsDiagnosis } from '../../config/diagnosis.js'
import { findLocalServer } from '../../config/local-server.js'
import { INSTEAD } from '../../config/old-project-file.js'
import type { Settings } from '../../config/settings.js'
import { type Failure, suggested } from '../../failures/failure.js'
import type { Host } from '../../host/host.js'
import { closing, othersMay, othersMayWrite } from '../../host/permissions.js'
import { clients, pathOf, readEntry } from '../../mcp/clients.js'
import { bad, type Finding, type NamedCheck, ok, warn } from './check.js'

const refused = ({ message, hint }: Failure, fix: string) => bad(message, hint ?? fix)

/** Checks the variables that decide where files are (rules/cli.md#folders). */
export function checkFolders(host: Host): Finding {
  const problem = refuseFolders(host)
  if (problem !== undefined) return refused(problem, '')
  const ignored = ignoredFolders(host).map((it) => `${it} (${host.env[it]})`)
  if (ignored.length === 0) return ok(`Home folder ${host.homeDir}.`)
  return warn(`Ignored, because not absolute: ${ignored.join(', ')}.`, 'Write the whole path, or unset it.')
}

export function checkProfileFile(host: Host, { config: problem, settings }: SettingsDiagnosis): Finding {
  const path = configFile(host)
  if (problem !== undefined) return refused(problem, `Repair ${path} or move it away.`)
  const { profileName, profileMissing, config } = settings
  const names = Object.keys(config.profiles)
  if (profileMissing)
    return bad(
      `There is no profile ${profileName.value}, which ${profileName.source} names.`,
      names.length === 0 ? 'Make one with `voucherctl login`.' : `Use one of ${names.join(', ')}.`,
    )
  if (!existsSync(path)) return ok(`None yet; \`voucherctl login\` makes ${path}.`)
  return ok(`${path}: ${names.length} profiles, ${profileName.value} in use.`.replace(' 1 profiles', ' 1 profile'))
}

/** Checks that the profile file, which holds secrets, has mode 0600 and its folder 0700. */
export function checkPermissions(host: Host): Finding {
  const [dir, file] = [configDir(host), configFile(host)]
  if (!existsSync(dir)) return ok('Nothing to protect yet.')
  if (othersMay(file) !== 0)
    return bad(`Other users of this machine have access to ${file}.`, `Close it: ${closing(file, '600')}`)
  if (othersMayWrite(dir))
    return bad(`Other users of this machine can write to ${dir}.`, `Close it: ${closing(dir, '700')}`)
  if (othersMay(dir) !== 0)
    return warn(`Other users of this machine can look into ${dir}.`, `Close it: ${closing(dir, '700')}`)
  const refusal = notWritable(dir)
  if (refusal !== undefined) return bad(`${dir} cannot be written (${refusal}).`, 'Make it yours.')
  return ok(`${dir} is open to you alone.`)
}

/** Warns of a project file of an earlier version; without one there is nothing to check. */
export function projectFileChecks({ oldProjectFile: path }: Settings): readonly NamedCheck[] {
  return path === undefined ? [] : [['project file', () => warn(`${path} is no longer read.`, INSTEAD)]]
}

/** Checks the values of all settings except the base URL, which has its own check. */
export function checkValues({ values: problem, settings }: SettingsDiagnosis): Finding {
  if (problem !== undefined && problem.code !== 'USAGE')
    return refused(problem, '`voucherctl help config` lists what may be set.')
  const { format, timeoutMs, retries, secure } = settings
  if (problem !== undefined) return ok('Valid, except for the base URL.')
  return ok(
    `Output ${format.value}, timeout ${timeoutMs.value / 1000} s, ${retries.value} retries, encryption ${secure.mode.value}.`,
  )
}

export function checkDataFolder(dir: string): Finding {
  if (!existsSync(dir)) return ok(`None yet; the start of its server makes ${dir}.`)
  if (!statSync(dir).isDirectory()) return bad(`${dir} is not a folder.`, 'Move it away.')
  const refusal = notWritable(dir)
  if (refusal !== undefined)
    return bad(`${dir} cannot be written (${refusal}).`, 'Make it yours, or choose another with --data.')
  const open = PRIVATE_FILES.map((it) => join(dir, it)).find((it) => othersMay(it) !== 0)
  if (open !== undefined) {
    const fix = isOwnFile(open) ? `Close it: ${closing(open, '600')}` : 'Put a file of your own in its place.'
    return bad(`Other users of this machine have access to ${open}.`, fix)
  }
  if (existsSync(join(dir, 'voucherctl.db')) && !existsSync(join(dir, 'keys.json')))
    return bad(`${dir} has vouchers, but not the keys.json that verifies them.`, 'Put keys.json back from a backup.')
  if (othersMay(dir) !== 0)
    return warn(`Other users of this machine can look into ${dir}.`, `Close it: ${closing(dir, '700')}`)
  if (existsSync(join(dir, 'server.json')) && findLocalServer(dir) === undefined)
    return warn(
      `${join(dir, 'server.json')} is left over from a server that no longer runs.`,
      `Nothing is lost: ${suggested`server start --detach --data ${dir}`} starts it again.`,
    )
  return ok(
    findLocalServer(dir) === undefined ? `${dir}; no server runs there.` : `${dir}, in use by a running server.`,
  )
}

export function checkInbox(host: Host): Finding {
  const dir = join(defaultDataDir(host), 'inbox')
  if (!existsSync(dir)) return ok('None yet; `voucherctl webhook listen` makes it.')
  const refusal = notWritable(dir)
  if (refusal !== undefined)
    return bad(`${dir} cannot be written (${refusal}).`, 'Make it yours, or choose another with --inbox.')
  if (othersMay(dir) !== 0)
    return warn(`Other users of this machine can look into ${dir}.`, `Close it: ${closing(dir, '700')}`)
  return ok(dir)
}

function notWritable(dir: string): string | undefined {
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

/** Checks the entries of MCP clients in the working folder: that they parse, and that the command exists. */
export function checkMcpClients(host: Host): Finding {
  const entries = clients.map((it) => [it, readEntry(host, it)] as const)
  for (const [client, entry] of entries) {
    if (entry === undefined) continue
    const fix = `Write it anew: \`voucherctl mcp install ${client} --write\`.`
    if (isFailure(entry)) return warn(entry.message, 'Repair the file, or add what `voucherctl mcp install` prints.')
    const { command, args } = entry
    const path = [command, ...(Array.isArray(args) ? args : [])].find(
      (it) => isAbsolute(String(it)) && !existsSync(String(it)),
    )
    if (path !== undefined) return bad(`${pathOf(host, client)} names ${path}, which does not exist.`, fix)
    if (command === undefined) return bad(`${pathOf(host, client)} names no command.`, fix)
  }
  const found = entries.flatMap(([client, entry]) => (entry === undefined ? [] : client))
  return ok(found.length === 0 ? 'None is configured in this folder.' : `Configured: ${found.join(', ')}.`)
}

const isFailure = (entry: object): entry is Failure => 'ok' in entry && entry.ok === false
