import { sendPrepared } from '../../../client/call.js'
import type { Transport, TransportResponse } from '../../../client/transport.js'
import type { Context } from '../../command/context.js'
import { openPlain } from '../../command/transport.js'

/** Milliseconds for one question. Two of them one after another stay below what a person waits. */
export const ASK_MS = 2_000

type Answered =
  | { readonly ok: true; readonly response: TransportResponse }
  | { readonly ok: false; readonly message: string }

/** One GET in plain text and without a credential: whatever is answered, or why nothing was. */
export async function ask(context: Context, baseUrl: string, path: string): Promise<Answered> {
  const transport = await openPlain(context, baseUrl)
  let response: TransportResponse | undefined
  const keeping: Transport = async (request) => {
    response = await transport(request)
    return response
  }
  const limits = { timeoutMs: ASK_MS, signal: context.host.signal }
  const request = { method: 'GET', path, headers: { accept: 'application/json' }, ...limits }
  const result = await sendPrepared(keeping, {
    ok: true,
    request,
    token: undefined,
    idempotencyKey: undefined,
    mutates: false,
  })
  if (response !== undefined) return { ok: true, response }
  return { ok: false, message: result.ok ? '' : result.message }
}
