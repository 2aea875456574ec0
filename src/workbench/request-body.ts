import type { IncomingMessage } from 'node:http'

/** Far above any update; nothing larger is held in memory. */
export const BODY_BYTES_MAX = 1024 * 1024
/** What is read and dropped of a body that is too long, so that a sender who is still sending reads the answer. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024
const DRAIN_MS = 5_000

type ReadBody =
  | { readonly ok: true; readonly body: Buffer }
  | { readonly ok: false; readonly reason: 'body_too_large' | 'broken_off' }

/** The bytes as they come. It ends as soon as they are too many. */
export function readBody(request: IncomingMessage): Promise<ReadBody> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) {
    return Promise.resolve({ ok: false, reason: 'body_too_large' })
  }
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (result: ReadBody) => {
      request.off('data', take)
      resolve(result)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > BODY_BYTES_MAX) end({ ok: false, reason: 'body_too_large' })
      else chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => end({ ok: true, body: Buffer.concat(chunks) }))
    request.once('error', () => end({ ok: false, reason: 'broken_off' }))
    request.once('close', () => end({ ok: false, reason: 'broken_off' }))
  })
}

/** Reads on and drops it: a connection that is closed on bytes unread takes its answer with it. */
export function drain(request: IncomingMessage): void {
  let dropped = 0
  const timer = setTimeout(() => request.destroy(), DRAIN_MS).unref()
  request.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > DRAIN_BYTES_MAX) request.destroy()
  })
  request.once('close', () => clearTimeout(timer))
  request.resume()
}
