import { codeOf } from './config.js'
import type { Failure } from './failure.js'
import { fail } from './failure.js'
import type { Host } from './host.js'

export type TextResult = { readonly ok: true; readonly text: string } | Failure

const SECRET_BYTES_MAX = 64 * 1024

/** The content of a file as text; `-` is standard input, read to its end. */
export async function readTextFile(host: Host, path: string): Promise<TextResult> {
  if (path === '-') return readStdin(host)
  const { readFile } = await import('node:fs/promises')
  try {
    return { ok: true, text: await readFile(path, 'utf8') }
  } catch (error) {
    return fail('FILE_UNREADABLE', `${path} cannot be read (${codeOf(error)}).`, 'Check the path and its permissions.')
  }
}

/** A secret on one line; one final LF or CRLF is dropped, nothing else. */
export async function readSecret(host: Host, path: string): Promise<TextResult> {
  const read = await readTextFile(host, path)
  if (!read.ok) return read
  const text = read.text.replace(/\r?\n$/, '')
  if (text === '') return fail('INVALID_INPUT', `${nameOf(path)} holds no secret.`)
  if (/[^!-~]/.test(text) || text.length > SECRET_BYTES_MAX) {
    return fail('INVALID_INPUT', `${nameOf(path)} does not hold one secret on one line.`)
  }
  return { ok: true, text }
}

const nameOf = (path: string) => (path === '-' ? 'Standard input' : path)

async function readStdin(host: Host): Promise<TextResult> {
  const chunks: Buffer[] = []
  for await (const chunk of host.stdin) chunks.push(Buffer.from(chunk))
  return { ok: true, text: Buffer.concat(chunks).toString('utf8') }
}
