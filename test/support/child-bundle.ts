import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..', '..')

/** A script that a child process of a test runs, of this process alone. */
export class ChildBundle {
  readonly path: string
  readonly #entry: string

  /** @param entry TypeScript; its imports start from the project's folder */
  constructor(name: string, entry: string) {
    this.path = join(root, 'node_modules', '.cache', 'voucherctl-test', `${name}-${process.pid}.mjs`)
    this.#entry = entry
  }

  /** Answers how to remove it. */
  async build(): Promise<() => void> {
    await build({
      stdin: { contents: this.#entry, resolveDir: root, loader: 'ts' },
      outfile: this.path,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      logLevel: 'error',
    })
    return () => rmSync(this.path, { force: true })
  }
}
