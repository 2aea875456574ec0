import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Bundles the command line once for all test files, when a source is newer than the bundle. */
export function setup(): void {
  const script = fileURLToPath(new URL('../../src/build/build.js', import.meta.url))
  const { status } = spawnSync(process.execPath, [script, '--bundle', '--if-changed'], { stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error('src/build/build.js --bundle failed')
}
