import { resolve } from 'node:path'
import { type Failure, usage } from '../failures/failure.js'
import { formatOf } from './input/read-rows.js'

/** Output paths of a run. */
export interface RunPaths {
  readonly out: string
  readonly journal: string
  readonly errors: string
}

export const pathsOf = (out: string, errors?: string): RunPaths => ({
  out,
  journal: `${out}.journal`,
  errors: errors ?? out.replace(/(\.\w+)$/, '.errors$1'),
})

/** Makes the paths absolute, because two different relative paths may mean the same file. */
export const pathsFrom = (folder: string, { out, journal, errors }: RunPaths): RunPaths => ({
  out: resolve(folder, out),
  journal: resolve(folder, journal),
  errors: resolve(folder, errors),
})

/** Checks the paths for conflicts without opening any file. */
export function checkPaths({ out, errors }: RunPaths, input: string, folder: string): Failure | undefined {
  for (const [flag, path] of Object.entries({ '--out': out, '--errors': errors })) {
    if (formatOf(path) === undefined) return usage(`${flag} must end in .csv, .ndjson or .jsonl.`)
  }
  return new Set([out, errors, input].map((it) => resolve(folder, it))).size < 3
    ? usage('FILE, --out and --errors must be three files.')
    : undefined
}
