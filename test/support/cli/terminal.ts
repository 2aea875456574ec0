import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import process from 'node:process'
import { vi } from 'vitest'

/** Whether the program `script` of util-linux, which provides the pseudo-terminal, is installed. */
export const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script')

export interface Terminal {
  /** Returns what the terminal has shown so far. */
  readonly shown: () => string
  type(keys: string): void
  until(text: string): Promise<void>
  readonly exit: Promise<number | null>
}

/** Runs a shell command on a pseudo-terminal, into which the test can type. */
export function onTerminal(command: string, cwd: string, env: NodeJS.ProcessEnv): Terminal {
  const child = spawn('/usr/bin/script', ['-qefc', command, '/dev/null'], { cwd, env, stdio: 'pipe' })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk))
  child.stdin.on('error', () => {})
  return {
    shown: () => shown,
    type: (keys) => child.stdin.write(keys),
    until: (text) =>
      vi
        .waitUntil(() => shown.includes(text), { timeout: 60_000, interval: 10 })
        .then(
          () => {},
          () => {
            throw new Error(`${JSON.stringify(text)} did not come: ${JSON.stringify(shown)}`)
          },
        ),
    exit: new Promise((resolve) => child.once('close', resolve)),
  }
}
