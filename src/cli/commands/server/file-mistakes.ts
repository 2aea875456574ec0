import type { Problem } from '../../../files/yaml-document.js'
import { type Failure, fail } from '../../failures/failure.js'

/**
 * Returns the failure for a file with mistakes, with the place of each mistake.
 * @param what describes the contents, such as `The seed`
 * @param name name of the file
 */
export function fileMistakes(what: string, name: string, problems: readonly Problem[], hint: string): Failure {
  const errors = problems.map((it) => ({ pointer: `${name}:${it.line}:${it.column}`, message: it.message }))
  const count = errors.length === 1 ? 'a mistake' : `${errors.length} mistakes`
  return fail('INVALID_INPUT', `${what} has ${count}.`, hint, { errors })
}
