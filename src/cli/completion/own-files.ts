import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, isMissing } from '../../files/error-code.js'
import { replaceFile } from '../../files/replace-file.js'
import { type Failure, fail } from '../failure.js'

/** Byte for byte: what a person keeps in a startup file may have any encoding. */
const BYTES = 'latin1'

export const bytesOf = (text: string) => Buffer.from(text, 'utf8').toString(BYTES)

type Content = { readonly ok: true; readonly content: string | undefined } | Failure

/** Undefined when there is no such file. */
export function readOwn(path: string): Content {
  try {
    return { ok: true, content: readFileSync(path, BYTES) }
  } catch (error) {
    if (isMissing(error)) return { ok: true, content: undefined }
    return fail('FILE_UNREADABLE', `${path} cannot be read (${codeOf(error)}).`, 'Check the path and its permissions.')
  }
}

/** Atomic: a shell that starts meanwhile reads the old file or the new one. A link stays, and keeps its permissions. */
export function writeOwn(path: string, content: string): Failure | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true })
    replaceFile(path, Buffer.from(content, BYTES), { isPrivate: false })
    return undefined
  } catch (error) {
    return unwritable(path, error)
  }
}

export function removeOwn(path: string): Failure | undefined {
  try {
    rmSync(path, { force: true })
    return undefined
  } catch (error) {
    return unwritable(path, error)
  }
}

const unwritable = (path: string, error: unknown) =>
  fail(
    'FILE_UNWRITABLE',
    `${path} cannot be changed (${codeOf(error)}).`,
    'Check its permissions, or print the script with `voucherctl completion SHELL` and put it where your shell finds it.',
  )
