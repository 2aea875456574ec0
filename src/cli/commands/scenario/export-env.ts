import { resolve } from 'node:path'
import { shellWord } from '../../../contract/values/shell-word.js'
import { codeOf } from '../../../files/error-code.js'
import { replaceFile } from '../../../files/replace-file.js'
import { type Failure, fail } from '../../failures/failure.js'
import type { Host } from '../../host/host.js'

/** Writes variables as lines that a shell can source. The file is private, because values may be credentials. */
export function writeEnvFile(
  { cwd }: Host,
  path: string,
  variables: Readonly<Record<string, string>>,
): Failure | undefined {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}\n`)
  try {
    replaceFile(resolve(cwd, path), lines.join(''), { isPrivate: true, flush: false, follow: false })
    return undefined
  } catch (error) {
    return fail('FILE_UNWRITABLE', `${path} cannot be written (${codeOf(error)}).`, 'Check its folder and permissions.')
  }
}
