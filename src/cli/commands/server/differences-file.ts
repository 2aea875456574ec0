import type { Differences } from '../../../server/options.js'
import type { Failure } from '../../failures/failure.js'
import { readTextFile } from '../../host/files.js'
import type { Host } from '../../host/host.js'
import { fileMistakes } from './file-mistakes.js'

/** Reads the file of --differences (RULES.md#differences). */
export async function readDifferencesFile(
  host: Host,
  path: string,
): Promise<{ readonly ok: true; readonly differences: Differences } | Failure> {
  const file = await readTextFile(host, path)
  if (!file.ok) return file
  const { readDifferences, switchable } = await import('../../../server/differences-file.js')
  const read = await readDifferences(file.text)
  if (read.ok) return read
  const hint = `No server was started. What can be switched: ${switchable}.`
  return fileMistakes('The file of differences', path, read.problems, hint)
}
