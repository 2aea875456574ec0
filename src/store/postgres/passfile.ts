import { readFileSync, statSync } from 'node:fs'
import process from 'node:process'

interface Place {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
}

/**
 * The password of the first line `host:port:database:user:password` that matches; `*` matches all, and a backslash
 * escapes the next character. Like libpq, ignores a file that others can read.
 */
export function passwordFromFile(path: string, { host, port, database, user }: Place): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) return undefined
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) return undefined
  const wanted = [host.startsWith('/') ? 'localhost' : host, String(port), database, user]
  for (const line of readFileSync(path, 'utf8').split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = [...line.matchAll(/((?:\\.|[^:\\])*)(?::|$)/g)].map(([, field = '']) => field)
    const plain = fields.map((field) => field.replaceAll(/\\(.)/g, '$1'))
    if (fields.length >= 5 && wanted.every((value, index) => fields[index] === '*' || plain[index] === value)) {
      return plain[4]
    }
  }
  return undefined
}
