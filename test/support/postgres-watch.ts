import { spawn } from 'node:child_process'
import process from 'node:process'

/** Stops the server of a folder and removes the folder when its stdin closes, that is when its parent ends. */
const WATCH = `
const { existsSync, readFileSync, rmSync } = require('node:fs')
const folder = process.argv[1]
process.stdin.resume().on('end', async () => {
  for (let n = 0; n < 100 && existsSync(folder); n++) {
    try {
      // SIGQUIT stops the server immediately, despite open connections.
      process.kill(Number(readFileSync(folder + '/data/postmaster.pid', 'utf8').split('\\n')[0]), 'SIGQUIT')
    } catch {
      // The server has ended or never started.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})
`

/** Runs the watcher in its own session, so that it survives a kill of this process group. */
export function removeWithParent(folder: string): void {
  const watcher = spawn(process.execPath, ['-e', WATCH, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
}
