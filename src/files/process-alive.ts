import process from 'node:process'
import { codeOf } from './error-code.js'
import { findText } from './read-file.js'

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
  const stat = findText(`/proc/${pid}/stat`)
  // The program name, in parentheses, may contain spaces and parentheses.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Clock ticks from boot to the start of a process (field 22 of /proc/PID/stat); undefined on systems without /proc. */
export const startTicks = (pid: number): string | undefined => statOf(pid)?.[START_TICKS]

/** Boot id and start ticks of a process, which no other process with its PID has. Undefined without /proc. */
export function processStart(pid: number): string | undefined {
  const ticks = startTicks(pid)
  const bootId = findText('/proc/sys/kernel/random/boot_id')
  return ticks === undefined || bootId === undefined ? undefined : `${bootId.trim()} ${ticks}`
}
