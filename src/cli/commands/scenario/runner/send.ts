import { sendPrepared } from '../../../../client/call.js'
import { failureOfInput } from '../../../../client/failure.js'
import type { PreparedCall, UnsendableCall } from '../../../../client/prepare.js'
import { prepareCall } from '../../../../client/prepare.js'
import type { CallResult } from '../../../../client/result.js'
import type { Transport } from '../../../../client/transport.js'
import type { Context } from '../../../command/context.js'
import { readPath } from '../../api/path.js'
import { prepareAny } from '../../api/send.js'
import type { CallStep } from './document.js'

/** A call with everything filled in. */
interface FilledCall extends Pick<CallStep, 'target' | 'as'> {
  readonly input: unknown
  readonly token: string | undefined
  /** Null lets a call that takes one make it. */
  readonly idempotencyKey: string | null
  readonly signal: AbortSignal
}

export async function send(context: Context, transport: Transport, call: FilledCall): Promise<CallResult<unknown>> {
  const prepared = await prepare(context, call)
  return prepared.ok ? sendPrepared(transport, prepared) : failureOfInput(prepared)
}

async function prepare(context: Context, call: FilledCall): Promise<PreparedCall | UnsendableCall> {
  const { target, input, token, idempotencyKey, signal } = call
  const limits = { signal, timeoutMs: context.settings.timeoutMs.value }
  if ('id' in target) {
    const keyed = idempotencyKey === null ? {} : { idempotencyKey }
    const settings = token === undefined ? {} : { token }
    return prepareCall(target, (input ?? {}) as Record<string, unknown>, settings, { ...limits, ...keyed })
  }
  const path = readPath(target.path)
  if (!path.ok) return { ok: false, message: path.message, details: {} }
  const globals = { ...context.globals, 'idempotency-key': idempotencyKey ?? undefined }
  const body = input === undefined ? undefined : JSON.stringify(input)
  const prepared = prepareAny({ ...context, globals }, { ...target, path: path.path, body, kind: call.as }, token)
  return { ...prepared, request: { ...prepared.request, ...limits } }
}
