import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { vi } from 'vitest'
import { built } from './built-cli.js'
import { temporaryDir } from './cli.js'

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

/** Runs a command on a terminal and prints the terminal settings (stty) before and after it. */
export function runOnTerminal(args: string, env: Record<string, string> = {}) {
  const home = temporaryDir()
  const command = `stty -a; ${process.execPath} ${built.bin} ${args}; exit=$?; stty -a; exit $exit`
  return onTerminal(command, home, built.environment(home, { TERM: 'xterm', ...env }))
}

/** Writes a pager, which runs this shell script. */
export function pagerOf(script: string, name = 'pager'): string {
  const file = join(temporaryDir(), name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
  return file
}
