import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, isMissing } from '../../../files/error-code.js'
import { replaceFile } from '../../../files/replace-file.js'
import { type Failure, fail } from '../../failures/failure.js'

/** Read and write as Latin-1, which preserves all bytes: a startup file may have any encoding. */
const BYTES = 'latin1'

export const bytesOf = (text: string) => Buffer.from(text, 'utf8').toString(BYTES)

type ContentResult = { readonly ok: true; readonly content: string | undefined } | Failure

/** Reads a startup file; the content is undefined if the file does not exist. */
export function readUserFile(path: string): ContentResult {
  try {
    return { ok: true, content: readFileSync(path, BYTES) }
  } catch (error) {
    if (isMissing(error)) return { ok: true, content: undefined }
    return fail('FILE_UNREADABLE', `${path} cannot be read (${codeOf(error)}).`, 'Check the path and its permissions.')
  }
}

/** Replaces a startup file atomically, so that no shell reads half of it. Follows links and keeps permissions. */
export function writeUserFile(path: string, content: string): Failure | undefined {
  try {
    mkdirSync(dirname(path), { recursive: true })
    replaceFile(path, Buffer.from(content, BYTES), { isPrivate: false })
    return undefined
  } catch (error) {
    return unwritable(path, error)
  }
}

export function removeUserFile(path: string): Failure | undefined {
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
    'Check its permissions, or print the script with `voucherctl completion bash` (or zsh, fish, powershell) and put it where your shell finds it.',
  )
