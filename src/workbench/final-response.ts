import type { ClientRequest, IncomingMessage } from 'node:http'

/** True for the error codes of a receiver that sent bytes but no valid HTTP response. */
export const isInvalidResponse = (code: string) =>
  code.startsWith('HPE_') || code === 'INVALID_STATUS' || code === 'UNEXPECTED_UPGRADE'

/**
 * Resolves to the head of the final response. Node itself never ends a request whose connection the receiver upgrades,
 * and accepts statuses that it cannot write (DECISIONS.md#application-responses).
 * Rejects with an error that has a `code`; the request keeps a listener for later errors.
 */
export function finalResponse(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    request.once('response', (response) => {
      const { statusCode: status = 0 } = response
      if (status >= 200 && status <= 599) return resolve(response)
      request.destroy()
      const digits = String(status).padStart(3, '0')
      reject(failure('INVALID_STATUS', `status ${digits} is outside 200 to 599`))
    })
    request.once('upgrade', (_response, socket) => {
      socket.destroy()
      reject(failure('UNEXPECTED_UPGRADE', 'status 101 changes the protocol, which nobody asked for'))
    })
    request.once('close', () => reject(failure('ECONNRESET', 'the connection closed')))
  })
}

const failure = (code: string, message: string) => Object.assign(new Error(message), { code })
