import { spawn } from 'node:child_process'
import process from 'node:process'

/** Ends the server of a folder and removes it when its standard input does, which the end of its parent brings about. */
const WATCH = `
const { existsSync, readFileSync, rmSync } = require('node:fs')
const folder = process.argv[1]
process.stdin.resume().on('end', async () => {
  for (let n = 0; n < 100 && existsSync(folder); n++) {
    try {
      // SIGQUIT: at once, whoever is connected.
      process.kill(Number(readFileSync(folder + '/data/postmaster.pid', 'utf8').split('\\n')[0]), 'SIGQUIT')
    } catch {
      // It has gone, or never came.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
})
`

/** A process of its own session, so that what kills this one with its group leaves no server behind. */
export function removeWithParent(folder: string): void {
  const watcher = spawn(process.execPath, ['-e', WATCH, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  ;(watcher.stdin as unknown as { unref(): void }).unref()
}
