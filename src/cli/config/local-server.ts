import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDataDir } from '../../files/data-dir.js'
import { isAlive, processStart } from '../../files/process-alive.js'
import type { Host } from '../host/host.js'
import { parseObject } from '../host/parse-object.js'
import type { Profile } from './config.js'

/** What a running server says about itself in server.json of its data folder. */
export interface LocalServer {
  /** Made at its start, and answered by its /healthz. */
  readonly instance_id?: string
  readonly pid: number
  readonly base_url: string
  readonly data_dir: string
  readonly operator_key_file: string | null
  readonly store: string
  readonly started_at: string
  /** The boot, and the clock ticks to the start of the process (Linux). */
  readonly process_start?: string | null
}

/** The data folder that the profile's login stored, else the default. */
export const dataDirOf = (host: Pick<Host, 'env' | 'homeDir'>, profile: Pick<Profile, 'data_dir'>): string =>
  profile.data_dir ?? defaultDataDir(host)

/**
 * The server that says it runs in a data folder; undefined when none does, also where one died without tidying up.
 * Where its process cannot be told from a later one of the same number, see server-identity.ts before it is trusted.
 */
export function findLocalServer(dataDir: string): LocalServer | undefined {
  const server = parseObject(readText(join(dataDir, 'server.json')) ?? '') as LocalServer | undefined
  if (server === undefined || typeof server.pid !== 'number' || typeof server.base_url !== 'string') return undefined
  return isAlive(server.pid) && isSameProcess(server) !== false ? server : undefined
}

/**
 * Whether the process of a server.json is the one that wrote it, without a call: a number is given to others once its
 * process died, its start is not. The same process still has its port, save for the seconds in which it ends. Undefined
 * where the system does not say.
 */
export function isSameProcess({ pid, process_start }: LocalServer): boolean | undefined {
  if (typeof process_start !== 'string') return undefined
  const start = processStart(pid)
  return start === undefined ? undefined : start === process_start
}

export function readOperatorKey(server: Pick<LocalServer, 'operator_key_file'>): string | undefined {
  if (server.operator_key_file === null) return undefined
  return readText(server.operator_key_file)?.trim()
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
