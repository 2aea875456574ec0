import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LISTEN = '0A'

/** Names the process that listens on a port, if the system tells: Linux does, for processes of the same user. */
export function portHolder(port: number): string | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const sockets = [...linesOf('/proc/net/tcp'), ...linesOf('/proc/net/tcp6')]
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === LISTEN)
    .map((fields) => `socket:[${fields[9]}]`)
  const isHolder = (pid: string) =>
    list(() => readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))).some((it) =>
      sockets.includes(it),
    )
  const pid = list(() => readdirSync('/proc')).find((it) => /^\d+$/.test(it) && isHolder(it))
  return pid && `${linesOf(`/proc/${pid}/comm`)[0]} (process ${pid})`
}

const linesOf = (path: string) => list(() => readFileSync(path, 'latin1').split('\n'))

/** Returns an empty list for what has ended meanwhile, belongs to another user, or does not exist here. */
function list(read: () => string[]): string[] {
  try {
    return read()
  } catch {
    return []
  }
}
