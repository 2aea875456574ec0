import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { codeOf, isMissing } from '../config/config.js'
import type { Failure } from '../failure.js'
import { fail } from '../failure.js'

/** Byte for byte: what a person keeps in a startup file may have any encoding. */
const BYTES = 'latin1'

export const bytesOf = (text: string) => Buffer.from(text, 'utf8').toString(BYTES)

export type Content = { readonly ok: true; readonly content: string | undefined } | Failure

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
  let draft: string | undefined
  try {
    mkdirSync(dirname(path), { recursive: true })
    const target = realTarget(path)
    const mode = statSync(target, { throwIfNoEntry: false })?.mode
    draft = `${target}.${process.pid}.draft`
    writeFileSync(draft, content, { encoding: BYTES, flag: 'wx', flush: true })
    if (mode !== undefined) chmodSync(draft, mode & 0o777)
    renameSync(draft, target)
    return undefined
  } catch (error) {
    if (draft !== undefined) rmSync(draft, { force: true })
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

function realTarget(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (isMissing(error)) return path
    throw error
  }
}

const unwritable = (path: string, error: unknown) =>
  fail(
    'FILE_UNWRITABLE',
    `${path} cannot be changed (${codeOf(error)}).`,
    'Check its permissions, or print the script with `voucherctl completion SHELL` and put it where your shell finds it.',
  )
