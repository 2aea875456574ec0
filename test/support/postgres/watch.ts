import { spawn } from 'node:child_process'
import process from 'node:process'

/** Program of the watcher: when the parent ends, which closes stdin, stops the server and removes its folder. */
const WATCH = `
const { existsSync, readFileSync, rmSync } = require('node:fs')
const folder = process.argv[1]
process.stdin.resume().on('end', async () => {
  for (let n = 0; n < 100 && existsSync(folder); n++) {
    try {
      // On SIGQUIT, PostgreSQL stops immediately, even with open connections.
      process.kill(Number(readFileSync(folder + '/data/postmaster.pid', 'utf8').split('\\n')[0]), 'SIGQUIT')
    } catch {
      // An exception means that the server has ended or never started, so the folder can be removed.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})
`

/** Starts the watcher detached, so that it survives a kill of the process group of the tests. */
export function removeWithParent(folder: string): void {
  const watcher = spawn(process.execPath, ['-e', WATCH, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
}
