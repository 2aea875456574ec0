import { realpathSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Host } from '../host/host.js'

export type SchemaName = 'templates' | 'scenario'

/**
 * First line of a new file, which names its JSON Schema for editors. The path is relative if the package is installed
 * in a folder above the file, so that the line holds for everybody who clones the project.
 */
export function schemaLine({ self, cwd }: Host, name: SchemaName, path: string): string {
  const schema = join(packageFolder(self[1] ?? ''), 'dist', 'schemas', `${name}.schema.json`)
  const folder = dirname(resolve(cwd, path))
  const [project] = schema.split(`${sep}node_modules${sep}`)
  const isInstalledAbove = project !== schema && `${folder}${sep}`.startsWith(`${project}${sep}`)
  const place = isInstalledAbove ? relative(folder, schema).replaceAll(sep, '/') : pathToFileURL(schema).href
  return `# yaml-language-server: $schema=${isInstalledAbove && !place.startsWith('.') ? `./${place}` : place}\n`
}

function packageFolder(script: string): string {
  try {
    return dirname(dirname(realpathSync(script)))
  } catch {
    return dirname(dirname(resolve(script)))
  }
}
