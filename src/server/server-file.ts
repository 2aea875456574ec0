import { mkdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { processStart } from '../files/process-alive.js'
import { replaceFile } from '../files/replace-file.js'

/** Content of server.json, in which other commands find the running server. */
export interface ServerFile {
  /** Id of this start of the server, which /healthz returns too. */
  instance_id: string
  pid: number
  base_url: string | null
  data_dir: string | null
  operator_key_file: string | null
  store: string
  /** Decisions that differ from the rules (DECISIONS.md#differences); absent if none does. */
  differences?: readonly string[]
  started_at: string
}

export function writeServerFile(dataDir: string, file: ServerFile): void {
  writeRunning(join(dataDir, 'server.json'), file)
}

/**
 * Adds a server to a registry of running servers, which is a folder of the user.
 * @returns a function that removes it, with the folders that were created for it
 * @throws errors of the file system
 */
export function registerServer(registryDir: string, file: ServerFile): () => void {
  const path = join(registryDir, `${file.instance_id}.json`)
  const topmost = mkdirSync(registryDir, { recursive: true, mode: 0o700 })
  writeRunning(path, file)
  return () => {
    rmSync(path, { force: true })
    if (topmost !== undefined) removeEmpty(registryDir, topmost)
  }
}

/** Removes a folder and those above it up to `topmost`, as far as they are empty. */
function removeEmpty(dir: string, topmost: string): void {
  try {
    rmdirSync(dir)
  } catch {
    return
  }
  if (dir !== topmost) removeEmpty(dirname(dir), topmost)
}

function writeRunning(path: string, file: ServerFile): void {
  const content = { ...file, process_start: processStart(process.pid) ?? null }
  replaceFile(path, `${JSON.stringify(content, null, 2)}\n`, { flush: false, follow: false })
}

/** Removes server.json unless it belongs to another server: with PostgreSQL several may share the folder. */
export function removeServerFile(dataDir: string, instanceId: string): void {
  const path = join(dataDir, 'server.json')
  try {
    const { instance_id: other } = JSON.parse(readFileSync(path, 'utf8')) as Partial<ServerFile>
    if (other !== instanceId) return
  } catch {
    // The file is missing already, or unreadable.
  }
  rmSync(path, { force: true })
}
