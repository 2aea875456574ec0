import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

const OWN = '/proc/self/fd'

/** Paths in a folder that this process has open, removed files included; empty where the system does not list them. */
export function openFilesIn(folder: string): string[] {
  if (!existsSync(OWN)) return []
  return readdirSync(OWN)
    .map((number) => targetOf(join(OWN, number)))
    .filter((path) => path.startsWith(folder))
}

/** The list contains the descriptor that read it, which is closed by now. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}
