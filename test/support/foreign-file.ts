import { chownSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import type { TestContext } from 'vitest'

/** A user who is not root. */
export const NOBODY = 65_534

/** Creates a file of another user, or skips the test: only root can give a file away. */
export function foreignFile({ skip }: TestContext, path: string, content = ''): void {
  skip(process.geteuid?.() !== 0, 'Only root can create a file of another user.')
  writeFileSync(path, content)
  chownSync(path, NOBODY, NOBODY)
}
