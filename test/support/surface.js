// Lists what the libraries export. As a program: node surface.js TYPES, with the folder dist/types of a package.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const libraries = {
  client: ['client/index'],
  secure: ['secure/index'],
  testing: ['testing/types', 'testing/index'],
  webhook: ['webhook/index'],
}
const statement =
  /(?<doc>\/\*\*(?:(?!\*\/)[^])*\*\/\s*)?^export (?:(?:type )?\{(?<list>[^}]*)\}|(?:declare )?(?:async )?(?:const|function|class|interface|type) (?<name>\w+))/gm
const listed = /(?<doc>\/\*\*(?:(?!\*\/)[^])*\*\/\s*)?(?:type )?(?:\w+ as )?(?<name>\w+)\s*(?:,|$)/g

const markOf = (...docs) => (docs.some((it) => it?.includes('@deprecated')) ? 'deprecated' : 'exported')

/** Exported names of a module, and whether `@deprecated` stands above each. */
export function exportsOf(text) {
  const found = {}
  for (const { groups: outer } of text.matchAll(statement)) {
    if (outer.name !== undefined) found[outer.name] = markOf(outer.doc)
    for (const { groups: inner } of (outer.list ?? '').matchAll(listed))
      found[inner.name] = markOf(outer.doc, inner.doc)
  }
  return Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Exported names by library, from its sources or its type declarations. */
export function surfaceOf(folder) {
  const read = (module) => {
    const path = ['.d.ts', '.ts', '.d.cts'].map((ending) => join(folder, module + ending)).find(existsSync)
    return readFileSync(path, 'utf8')
  }
  return Object.fromEntries(
    Object.entries(libraries).map(([library, modules]) => [library, exportsOf(modules.map(read).join('\n'))]),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(`${JSON.stringify(surfaceOf(process.argv[2]), null, 2)}\n`)
