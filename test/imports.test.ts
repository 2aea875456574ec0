import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
/** A template may hold a program that a test writes to a file. */
const template = /`(?:\\.|[^`\\])*`/gs
const statement = /^import\s+(?!type\s+\*|\*)[^'";]*?from\s*['"]([^'"]+)['"]/gm

/** Modules from which a file imports in several statements. A namespace import needs its own statement. */
function importedTwice(source: string): string[] {
  const modules = [...source.replace(template, '').matchAll(statement)].map(([, module]) => module as string)
  return [...new Set(modules.filter((module, at) => modules.indexOf(module) !== at))]
}

test('no file imports one module in two statements', () => {
  const files = ['src', 'test', 'bin'].flatMap((folder) =>
    (readdirSync(join(root, folder), { recursive: true }) as string[])
      .filter((name) => /\.[cm]?[jt]sx?$/.test(name))
      .map((name) => join(folder, name)),
  )
  expect(files.length).toBeGreaterThan(1_000)
  const repeated = files.flatMap((file) =>
    importedTwice(readFileSync(join(root, file), 'utf8')).map((module) => `${file}: ${module}`),
  )
  expect(repeated).toEqual([])
})

test('a type and a value of one module in two statements count as two imports', () => {
  const source = ["import type { A } from './a.js'", "import { a } from './a.js'", "import * as all from './a.js'"]
  expect(importedTwice(source.join('\n'))).toEqual(['./a.js'])
  expect(importedTwice([source[0], source[2]].join('\n'))).toEqual([])
})
