import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { isMissing } from '../../../files/error-code.js'
import { readFile } from '../../../files/read-file.js'
import { replaceFile } from '../../../files/replace-file.js'
import { makeFolder } from '../../../files/sync-folder.js'
import type { Failure } from '../../failures/failure.js'
import { tryToWrite, unreadable } from '../../host/files.js'

/** Read and write as Latin-1, which preserves all bytes: a startup file may have any encoding. */
const BYTES = 'latin1'

export const bytesOf = (text: string) => Buffer.from(text, 'utf8').toString(BYTES)

type ContentResult = { readonly ok: true; readonly content: string | undefined } | Failure

/** Reads a startup file; the content is undefined if the file does not exist. */
export function readUserFile(path: string): ContentResult {
  try {
    return { ok: true, content: readFile(path).toString(BYTES) }
  } catch (error) {
    if (isMissing(error)) return { ok: true, content: undefined }
    return unreadable(path, error)
  }
}

const BY_HAND =
  'Check its permissions, or print the script with `voucherctl completion bash` (or zsh, fish, powershell) and put it where your shell finds it.'

/** Replaces a startup file atomically, so that no shell reads half of it. Follows links and keeps permissions. */
export const writeUserFile = (path: string, content: string): Failure | undefined =>
  tryToWrite(path, BY_HAND, () => {
    makeFolder(dirname(path), 0o777)
    replaceFile(path, Buffer.from(content, BYTES), { isPrivate: false })
  })

export const removeUserFile = (path: string): Failure | undefined =>
  tryToWrite(path, BY_HAND, () => rmSync(path, { force: true }))
