import { readdirSync, readFileSync } from 'node:fs'

export interface FoundProcess {
  readonly id: number
  readonly name: string
}

/** Finds the processes of this user whose environment has a variable; none on systems without /proc. */
export function processesByVariable(name: string, value: string): FoundProcess[] {
  const ids = textOf(() => readdirSync('/proc').join('\n')).split('\n')
  return ids
    .filter((it) => /^\d+$/.test(it))
    .filter((it) => `\0${textOf(() => readFileSync(`/proc/${it}/environ`, 'utf8'))}`.includes(`\0${name}=${value}\0`))
    .map((it) => ({ id: Number(it), name: textOf(() => readFileSync(`/proc/${it}/comm`, 'utf8')).trim() }))
}

/** A process may end, or belong to another user, between two reads. */
function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
