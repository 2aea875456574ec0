import { execFileSync } from 'node:child_process'
import { vi } from 'vitest'

/** Resolves when a condition holds. */
export const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 120_000, interval: 10 })

/** True while a process runs. A process that has ended and waits for its parent does not run. */
export function isAlive(id: number): boolean {
  return table().some((it) => it.id === id)
}

/** Ids of the processes whose command line or environment has a text. */
export const processesWith = (text: string): number[] =>
  table()
    .filter((it) => it.line.includes(text))
    .map((it) => it.id)

function table() {
  const rows = execFileSync('ps', ['axeww', '-o', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n')
  return rows.flatMap((row) => {
    const [, id, stat = '', line = ''] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(row) ?? []
    return id === undefined || stat.startsWith('Z') ? [] : [{ id: Number(id), line }]
  })
}
