import type { ClientRequest, IncomingMessage } from 'node:http'

/** True for the error code of a receiver that sent bytes which are not a valid HTTP response. */
export const isInvalidResponse = (code: string) =>
  code.startsWith('HPE_') || code === 'INVALID_STATUS' || code === 'UNEXPECTED_UPGRADE'

/**
 * Resolves to the head of the final response. Unlike node:http, it ends a request whose connection the receiver
 * upgrades and refuses statuses that node:http cannot write (rules/workbench.md#application-responses).
 * @throws an error with a `code`; a listener stays on the request for later errors
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
