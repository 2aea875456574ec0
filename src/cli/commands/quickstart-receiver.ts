import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import { untilAborted } from '../until-aborted.js'

/** A delivery whose signature was checked. */
export interface Received {
  readonly updateId: string
  readonly type: string
}

/** A webhook endpoint on this machine, for the length of the story. */
export interface Receiver {
  readonly port: number
  /** Deliveries are refused until it is known. */
  secret: string
  /** The next delivery that passed. */
  next(signal: AbortSignal): Promise<{ ok: true; value: Received } | Failure>
  close(): Promise<void>
}

const WAIT_MS = 10_000
const BODY_BYTES_MAX = 1024 * 1024

export async function startReceiver(): Promise<Receiver> {
  const { verifyWebhook } = await import('../../webhooks/signature.js')
  const arrived: Received[] = []
  let wake: (() => void) | undefined
  const server = createServer(async (request, response) => {
    const rawBody = await readBody(request)
    const verdict =
      rawBody === undefined || receiver.secret === ''
        ? undefined
        : verifyWebhook({ headers: request.headers, rawBody, secrets: [receiver.secret] })
    response.writeHead(verdict?.ok ? 200 : 401).end()
    if (!verdict?.ok) return
    arrived.push({ updateId: verdict.updateId, type: String(verdict.body.type) })
    wake?.()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const receiver: Receiver = {
    port: (server.address() as AddressInfo).port,
    secret: '',
    async next(signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)])
      while (arrived.length === 0 && !limit.aborted) {
        await untilAborted(
          new Promise<void>((resolve) => {
            wake = resolve
          }),
          limit,
        )
      }
      const value = arrived.shift()
      if (value !== undefined) return { ok: true, value }
      return signal.aborted ? fail('ABORTED', 'Interrupted.') : fail('UNEXPECTED', 'No delivery arrived.')
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}

/** Undefined for a body that is longer than any delivery, or that broke off. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > BODY_BYTES_MAX) return undefined
      chunks.push(chunk)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks)
}
