import type { SecureMode } from '../../client/secure.js'
import type { Transport } from '../../client/transport.js'
import type { Output } from '../output/output.js'
import { redactHeaders } from './dry-run.js'

/** Traces each attempt: the request without body and secrets, then status, request id and duration. */
export function traced(transport: Transport, baseUrl: string, output: Output, now: () => number): Transport {
  return async (request) => {
    const startedAt = now()
    output.trace(`> ${request.method} ${baseUrl.replace(/\/+$/, '')}${request.path}`)
    for (const [name, value] of Object.entries(redactHeaders(request.headers))) output.trace(`> ${name}: ${value}`)
    try {
      const response = await transport(request)
      const replayed = response.headers['idempotent-replayed'] === undefined ? '' : ', replayed'
      output.trace(
        `< ${response.status} ${response.headers['x-request-id'] ?? ''} in ${now() - startedAt} ms${replayed}`,
      )
      return response
    } catch (error) {
      output.trace(`< no response in ${now() - startedAt} ms`)
      throw error
    }
  }
}

/** Traces requests before their encryption; the trace of the outer transport shows only envelopes. */
export function tracedInside(
  transport: Transport,
  isSecured: (path: string) => boolean,
  mode: SecureMode,
  output: Output,
): Transport {
  const label = mode === 'auto' ? 'encrypted unless the server has it switched off' : 'encrypted'
  return async (request) => {
    if (!isSecured(request.path)) return transport(request)
    output.trace(`> ${label}: ${request.method} ${request.path}`)
    for (const [name, value] of Object.entries(redactHeaders(request.headers))) {
      output.trace(`> ${label}: ${name}: ${value}`)
    }
    const response = await transport(request)
    output.trace(`< ${label}: ${response.status} ${response.headers['x-request-id'] ?? ''}`)
    return response
  }
}
