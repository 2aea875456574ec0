import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LISTEN = '0A'

/** Names the process that listens on a port; undefined if the system does not tell: only Linux, only own processes. */
export function portHolder(port: number): string | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const sockets = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    linesOf(table)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTEN)
      .map((fields) => `socket:[${fields[9]}]`),
  )
  const holds = (pid: string) =>
    tried(() => readdirSync(`/proc/${pid}/fd`)).some((fd) =>
      tried(() => [readlinkSync(`/proc/${pid}/fd/${fd}`)]).some((it) => sockets.includes(it)),
    )
  const pid = sockets.length === 0 ? undefined : readdirSync('/proc').find((it) => /^\d+$/.test(it) && holds(it))
  return pid && `${linesOf(`/proc/${pid}/comm`)[0] || 'a program'} (process ${pid})`
}

const linesOf = (path: string) => tried(() => readFileSync(path, 'latin1').split('\n'))

/** Returns an empty list for what has ended meanwhile or belongs to another user. */
function tried(read: () => string[]): string[] {
  try {
    return read()
  } catch {
    return []
  }
}
