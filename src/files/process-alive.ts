import process from 'node:process'
import { codeOf } from './error-code.js'

/** True if a process with this PID runs. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process runs as another user.
    return codeOf(error) === 'EPERM'
  }
}
