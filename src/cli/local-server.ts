import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseObject } from './config.js'
import type { Host } from './host.js'

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
}

/** The data folder when none is named (decisions.md 7). */
export function defaultDataDir({ env, homeDir }: Pick<Host, 'env' | 'homeDir'>): string {
  return join(env.XDG_DATA_HOME || join(homeDir, '.local', 'share'), 'voucherctl')
}

/**
 * The server that says it runs in a data folder; undefined when none does, also where one died without tidying up.
 * Its process id may belong to another process by now: see server-identity.ts before it is trusted.
 */
export function findLocalServer(dataDir: string): LocalServer | undefined {
  const server = parseObject(readText(join(dataDir, 'server.json')) ?? '') as LocalServer | undefined
  if (server === undefined || typeof server.pid !== 'number' || typeof server.base_url !== 'string') return undefined
  return isAlive(server.pid) ? server : undefined
}

export function readOperatorKey(server: Pick<LocalServer, 'operator_key_file'>): string | undefined {
  if (server.operator_key_file === null) return undefined
  return readText(server.operator_key_file)?.trim()
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It runs, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
