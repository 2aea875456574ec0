import { resolve } from 'node:path'
import { replaceFile } from '../../../files/replace-file.js'
import { shellWord } from '../../../values/shell-word.js'
import type { Failure } from '../../failures/failure.js'
import { tryToWrite } from '../../host/files.js'
import type { Host } from '../../host/host.js'

/** Writes variables as lines that a shell can source. The file is private, because values may be credentials. */
export function writeEnvFile(
  { cwd }: Host,
  path: string,
  variables: Readonly<Record<string, string>>,
): Failure | undefined {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}\n`)
  const options = { isPrivate: true, flush: false, follow: false }
  return tryToWrite(path, 'Check its folder and permissions.', () =>
    replaceFile(resolve(cwd, path), lines.join(''), options),
  )
}
