import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDataDir } from '../../files/data-dir.js'
import { isAlive, processStart } from '../../files/process-alive.js'
import type { Host } from '../host/host.js'
import { parseObject } from '../host/parse-object.js'
import type { Profile } from './config.js'

/** Content of server.json, which a running server writes into its data folder. */
export interface LocalServer {
  /** Made at the start of the server; /healthz returns it too. */
  readonly instance_id?: string
  readonly pid: number
  readonly base_url: string
  readonly data_dir: string
  readonly operator_key_file: string | null
  readonly store: string
  readonly started_at: string
  /** Boot and start ticks of the process (Linux). */
  readonly process_start?: string | null
}

/** The data folder that the profile's login stored, else the default. */
export const dataDirOf = (host: Pick<Host, 'env' | 'homeDir'>, profile: Pick<Profile, 'data_dir'>): string =>
  profile.data_dir ?? defaultDataDir(host)

/**
 * The server of a data folder; undefined if none runs there. Before trusting it, call `refuseImpostor`: not every
 * system tells its process from a later one with the same PID.
 */
export function findLocalServer(dataDir: string): LocalServer | undefined {
  const server = parseObject(readText(join(dataDir, 'server.json')) ?? '') as LocalServer | undefined
  if (server === undefined || typeof server.pid !== 'number' || typeof server.base_url !== 'string') return undefined
  return isAlive(server.pid) && isSameProcess(server) !== false ? server : undefined
}

/**
 * Tells without a call whether the process that wrote server.json still runs: systems reuse its PID, but not with the
 * same start. The process keeps its port, except for the seconds in which it ends. Undefined if the system does not
 * report the start.
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
