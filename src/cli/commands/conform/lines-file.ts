import { appendFileSync, lstatSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Failure, fail } from '../../failure.js'
import type { Host } from '../../host/host.js'

/** A new NDJSON file, readable by its owner only. It is created with the first line. */
export interface LinesFile {
  readonly ok: true
  append(line: object): void
}

/**
 * @param otherwise what to do if the file exists
 * @param header precedes the first line
 */
export function newLinesFile({ cwd }: Host, path: string, otherwise: string, header?: object): LinesFile | Failure {
  const file = resolve(cwd, path)
  // A symbolic link counts as a file, also one whose target is missing.
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    return fail('FILE_UNWRITABLE', `${path} exists.`, otherwise)
  let isNew = true
  return {
    ok: true,
    append(line) {
      const text = `${JSON.stringify(line)}\n`
      const start = header === undefined ? '' : `${JSON.stringify(header)}\n`
      if (isNew) writeFileSync(file, start + text, { flag: 'wx', mode: 0o600 })
      else appendFileSync(file, text)
      isNew = false
    },
  }
}
