import { readFileSync } from 'node:fs'
import process from 'node:process'
import { codeOf } from './error-code.js'

/** True if a process with this PID runs. A zombie has ended; without an init process, containers keep zombies. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return statOf(pid)?.[STATE] !== 'Z'
  } catch (error) {
    // EPERM: the process runs as another user.
    return codeOf(error) === 'EPERM'
  }
}

const STATE = 0
const START_TICKS = 19

/** Fields of /proc/PID/stat after the program name; undefined on systems without /proc. */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The program name, in parentheses, may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** Clock ticks from boot to the start of a process (field 22 of /proc/PID/stat); undefined on systems without /proc. */
export const startTicks = (pid: number): string | undefined => statOf(pid)?.[START_TICKS]

/** Boot id and start ticks of a process, which no other process with its PID has. Undefined without /proc. */
export function processStart(pid: number): string | undefined {
  const ticks = startTicks(pid)
  if (ticks === undefined) return undefined
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${ticks}`
  } catch {
    return undefined
  }
}
