import type { IncomingMessage } from 'node:http'

/** Maximum body size in memory, far above the size of any update. */
export const BODY_BYTES_MAX = 1024 * 1024
/** Maximum bytes of a too large body to read and drop, so that a client that is still sending gets the response. */
const DRAIN_BYTES_MAX = 64 * 1024 * 1024
const DRAIN_MS = 5_000

/** Reads a body; resolves to its bytes, or to the reason why it is incomplete. */
export function readBody(
  request: IncomingMessage,
  bytesMax = BODY_BYTES_MAX,
): Promise<Buffer | 'body_too_large' | 'broken_off'> {
  return new Promise((resolve) => {
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) return resolve('body_too_large')
    const chunks: Buffer[] = []
    let size = 0
    const end = (result: Buffer | 'body_too_large' | 'broken_off') => {
      request.off('data', take)
      resolve(result)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > bytesMax) end('body_too_large')
      else chunks.push(chunk)
    }
    request.on('data', take)
    request.once('end', () => end(Buffer.concat(chunks)))
    request.once('error', () => end('broken_off'))
    request.once('close', () => end('broken_off'))
  })
}

/** Reads and drops the remaining body, because closing a connection with unread bytes would lose the response. */
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
