import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultDataDir } from '../../files/data-dir.js'
import { isAlive, processStart } from '../../files/process-alive.js'
import type { Host } from '../host/host.js'
import { parseObject } from '../host/parse-object.js'
import type { Profile } from './config.js'

/** Content of server.json, which a server writes into its data folder while it runs. */
export interface LocalServer {
  /** Random id from the start of the server; /healthz returns it too. */
  readonly instance_id?: string
  readonly pid: number
  readonly base_url: string
  readonly data_dir: string
  readonly operator_key_file: string | null
  readonly store: string
  readonly started_at: string
  /** Boot id and start ticks of the server process, on Linux only. */
  readonly process_start?: string | null
}

/** Data folder of a profile's local server, as the login stored it, else the default folder. */
export const dataDirOf = (host: Pick<Host, 'env' | 'homeDir'>, profile: Pick<Profile, 'data_dir'>): string =>
  profile.data_dir ?? defaultDataDir(host)

/**
 * Finds the server that runs on a data folder; undefined if none runs. Call `refuseImpostor` before you trust the
 * result: on some systems another process with the same PID looks like the server.
 */
export function findLocalServer(dataDir: string): LocalServer | undefined {
  const server = parseObject(readText(join(dataDir, 'server.json')) ?? '') as LocalServer | undefined
  if (server === undefined || typeof server.pid !== 'number' || typeof server.base_url !== 'string') return undefined
  return isAlive(server.pid) && isSameProcess(server) !== false ? server : undefined
}

/**
 * Checks without a call whether the process that wrote server.json still runs. Another process may have its PID, but
 * not the same start. A running server keeps its port until the seconds in which it stops. Undefined if the system does
 * not report when a process started.
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
