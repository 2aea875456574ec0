import { resolve } from 'node:path'
import { codeOf, reasonOf } from '../../files/error-code.js'
import { FILE_BYTES_MAX, readFile, tooLarge } from '../../files/read-file.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Host } from './host.js'
import { remember, withoutLineEnd } from './secrets.js'

export type TextResult = { readonly ok: true; readonly text: string } | Failure
export type BytesResult = { readonly ok: true; readonly bytes: Buffer } | Failure

const SECRET_BYTES_MAX = 64 * 1024

/** Reads a file as text; the path `-` means standard input. */
export async function readTextFile(host: Host, path: string): Promise<TextResult> {
  const read = await readBytes(host, path)
  return read.ok ? { ok: true, text: read.bytes.toString('utf8') } : read
}

/** Reads at most 16 MiB of a file as bytes; a relative path starts at the host's working folder. */
export async function readBytes(host: Host, path: string): Promise<BytesResult> {
  const absolute = resolve(host.cwd, path)
  try {
    if (path === '-' || path === '/dev/stdin') return await readAll(host.stdin, host.signal)
    const fifo = await openFifo(absolute)
    if (fifo === undefined) return { ok: true, bytes: readFile(absolute) }
    return await readAll(fifo, host.signal).finally(() => fifo.destroy())
  } catch (error) {
    return unreadable(nameOf(path), error)
  }
}

/** @param error thrown by the file system */
export function unreadable(path: string, error: unknown): Failure {
  return codeOf(error) === 'ENOENT'
    ? fail('FILE_UNREADABLE', `There is no file ${path}.`, 'Check the path.')
    : fail('FILE_UNREADABLE', `${path} cannot be read${reasonOf(error)}.`, 'Check the path and its permissions.')
}

/** Runs a function that writes a file. @returns the failure if the file system refuses it */
export function tryToWrite(path: string, hint: string, write: () => void): Failure | undefined {
  try {
    write()
    return undefined
  } catch (error) {
    return fail('FILE_UNWRITABLE', `${path} cannot be written${reasonOf(error)}.`, hint)
  }
}

/** Checks before work that would be lost that a file can be written. */
export async function checkWritable(
  { cwd }: Pick<Host, 'cwd'>,
  path: string,
  options?: { readonly isPrivate: boolean },
): Promise<Failure | undefined> {
  const { checkReplace } = await import('../../files/replace-file.js')
  return tryToWrite(path, 'Check its folder and permissions.', () => checkReplace(resolve(cwd, path), options))
}

/** Reads a secret from a file of one line. */
export async function readSecret(host: Host, path: string): Promise<TextResult> {
  const read = await readTextFile(host, path)
  return read.ok ? oneSecret(host, read.text, nameOf(path)) : read
}

/** Returns a secret without its line end (LF, CR LF or CR). A message names its source, and never shows it. */
export function oneSecret(host: Pick<Host, 'env'>, given: string, source: string, foreign = /[^!-~]/): TextResult {
  const text = withoutLineEnd(given)
  if (text === '') return fail('INVALID_INPUT', `${source} holds no secret.`)
  const isOther = /^(["']).*\1$/.test(text) || foreign.test(text)
  const end = /[\r\n]/.test(text) ? 'a line end' : isOther ? 'quotes, white space or other characters' : undefined
  const extra = text.startsWith('\ufeff') ? 'a byte order mark' : end
  if (extra !== undefined || text.length > SECRET_BYTES_MAX) {
    const message = `${source} does not hold one secret on one line: it has ${extra ?? 'too many characters'}.`
    return fail('INVALID_INPUT', message, 'Write the secret alone: without quotes, a byte order mark or CR line ends.')
  }
  remember(host, text)
  return { ok: true, text }
}

const nameOf = (path: string) => (path === '-' ? 'Standard input' : path)

const interrupted = () => fail('ABORTED', 'Interrupted before the input was read.')

async function readAll(input: AsyncIterable<Uint8Array | string>, signal: AbortSignal): Promise<BytesResult> {
  const chunks: Buffer[] = []
  let bytes = 0
  const iterator = input[Symbol.asyncIterator]()
  for (;;) {
    const next = await untilAborted(iterator.next(), signal)
    if (next === undefined) return interrupted()
    if (next.done) return { ok: true, bytes: Buffer.concat(chunks) }
    bytes += chunks[chunks.push(Buffer.from(next.value)) - 1]?.length ?? 0
    if (bytes > FILE_BYTES_MAX) throw tooLarge()
  }
}

/**
 * Opens a FIFO as a stream, without waiting for a writer: a thread that blocks in open() would keep the process alive.
 * @returns undefined for any other file
 * @throws errors of the file system
 */
export async function openFifo(path: string): Promise<import('node:net').Socket | undefined> {
  const { constants, openSync, statSync } = await import('node:fs')
  if (!statSync(path).isFIFO()) return undefined
  const { Socket } = await import('node:net')
  return new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writable: false })
}

/** Resolves to the result of the work, or to undefined if the signal aborts first. It does not stop the work. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal === undefined) return work
  if (signal.aborted) return undefined
  const ended = new AbortController()
  const aborted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true, signal: ended.signal })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    ended.abort()
  }
}
