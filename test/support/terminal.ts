import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import process from 'node:process'
import { vi } from 'vitest'

/** Where util-linux lends a terminal. */
export const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script')

export interface Terminal {
  /** Everything that was shown so far. */
  readonly shown: () => string
  type(keys: string): void
  until(text: string): Promise<void>
  readonly exit: Promise<number | null>
}

/** A shell command on a terminal of its own, its keys typed by the test. */
export function onTerminal(command: string, cwd: string, env: NodeJS.ProcessEnv): Terminal {
  const child = spawn('/usr/bin/script', ['-qefc', command, '/dev/null'], { cwd, env, stdio: 'pipe' })
  let shown = ''
  child.stdout.on('data', (chunk) => (shown += chunk))
  child.stdin.on('error', () => {})
  return {
    shown: () => shown,
    type: (keys) => child.stdin.write(keys),
    until: (text) =>
      vi
        .waitUntil(() => shown.includes(text), { timeout: 20_000, interval: 10 })
        .then(
          () => {},
          () => {
            throw new Error(`${JSON.stringify(text)} did not come: ${JSON.stringify(shown)}`)
          },
        ),
    exit: new Promise((resolve) => child.once('close', resolve)),
  }
}
