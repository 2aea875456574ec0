import type { IncomingMessage } from 'node:http'

/** Resolves with the chunks of a request body; never, if the client breaks off. */
export function chunksOf(request: IncomingMessage): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  return new Promise((resolve) => {
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => resolve(chunks))
  })
}
