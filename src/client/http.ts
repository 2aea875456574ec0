import { parseBaseUrl } from './base-url.js'
import type { OpenResponse } from './exchange.js'
import { openExchange } from './exchange.js'
import type { Transport } from './transport.js'
import { maxResponseBytes, TransportError } from './transport.js'

/**
 * One-shot calls: a connection each, closed after the answer. For many calls see pool.ts.
 * @throws TypeError for a base URL that is none.
 */
export function createHttpTransport(baseUrl: string): Transport {
  const base = parseBaseUrl(baseUrl)
  return async (request) => {
    const response = await openExchange(base, request)
    const bytes = await readBytes(response)
    return { status: response.status, headers: response.headers, body: bytes.toString('utf8'), bytes }
  }
}

/** The whole body. @throws TransportError when it breaks off or exceeds 64 MiB. */
export const readText = async (response: OpenResponse): Promise<string> => (await readBytes(response)).toString('utf8')

async function readBytes({ chunks }: OpenResponse): Promise<Buffer> {
  const read: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > maxResponseBytes)
      throw new TransportError('lost', `The answer is larger than ${maxResponseBytes} bytes`)
    read.push(chunk)
  }
  return Buffer.concat(read)
}
