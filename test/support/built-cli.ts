import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildCommandLine } from '../../src/build-cli.js'

export interface Finished {
  readonly exit: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The command line as a program of its own: bundled below node_modules, where native packages are found from. */
export class BuiltCli {
  readonly dir: string
  readonly bin: string

  constructor(name: string) {
    this.dir = join(root, 'node_modules', '.cache', `voucherctl-${name}-${process.pid}`)
    this.bin = join(this.dir, 'bin', 'voucherctl.js')
  }

  async build(): Promise<void> {
    mkdirSync(this.dir, { recursive: true })
    cpSync(join(root, 'bin'), join(this.dir, 'bin'), { recursive: true })
    cpSync(join(root, 'package.json'), join(this.dir, 'package.json'))
    await buildCommandLine(join(this.dir, 'dist'))
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true })
  }

  environment(home: string, env: Record<string, string> = {}): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: home, ...env }
  }

  run(args: readonly string[], home: string, env?: Record<string, string>): Promise<Finished> {
    return new Promise((resolve) => {
      const options = { cwd: home, env: this.environment(home, env), maxBuffer: 16 * 1024 * 1024 }
      const child = execFile(process.execPath, [this.bin, ...args], options, (_error, stdout, stderr) => {
        resolve({ exit: child.exitCode, signal: child.signalCode, stdout, stderr })
      })
      child.stdin?.end()
    })
  }

  start(args: readonly string[], home: string, env?: Record<string, string>) {
    return spawn(process.execPath, [this.bin, ...args], { cwd: home, env: this.environment(home, env), stdio: 'pipe' })
  }
}
