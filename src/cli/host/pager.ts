import { spawn } from 'node:child_process'
import type { Host } from './host.js'

/** Exit codes of a shell that cannot start a command: not executable, not found. */
const NOT_STARTED = [126, 127]

/** Shows a text in the user's pager until the pager ends; false if there is none (rules/cli.md#help-topics). */
export function showInPager(text: string, env: Host['env']): Promise<boolean> {
  // On a dumb terminal, such as an editor's, less cannot move.
  const { PAGER = env.TERM === 'dumb' ? 'cat' : undefined } = env
  if (PAGER !== undefined && ['', 'cat'].includes(PAGER.trim())) return Promise.resolve(false)
  const [program, ...args] = PAGER === undefined ? ['less', '-FRX'] : [PAGER]
  const child = spawn(program, args, { shell: PAGER !== undefined, stdio: ['pipe', 'inherit', 'inherit'], env })
  // A pager that ends early closes the pipe.
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('close', (exit) => resolve(!NOT_STARTED.includes(exit ?? 0)))
  })
}
