import { sendPrepared } from '../../client/call.js'
import { type Expected, findMismatch } from '../../client/response.js'
import type { CallResult } from '../../client/result.js'
import type { PreparedCall } from '../../client/settings.js'
import type { Transport, TransportResponse } from '../../client/transport.js'
import { callHeaders, JSON_TYPE } from '../../contract/call-request.js'
import { type CredentialKind, mutates } from '../../contract/endpoint.js'
import type { SecureMode } from '../../secure/client/options.js'
import { asMembers, defined, parseJson } from '../../values/json.js'
import { readTarget } from '../../values/path-part.js'
import { refuseImpostor } from '../config/local-server.js'
import type { CallFacts } from '../failures/call-failure.js'
import type { Failure } from '../failures/failure.js'
import type { Plan } from '../output/outcome.js'
import { confirmCall } from './confirmation.js'
import type { Context } from './context.js'
import { showProductionBanner, usedCredential } from './create-context.js'
import { forbidPlaintext } from './downgrade-protection.js'
import type { ApiRoute } from './known-routes.js'
import { openInMode, withRetries } from './transport.js'

/** A call by method and path; the contract may not have this route. */
export interface AnyCall {
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly body: string | undefined
  readonly kind: CredentialKind | 'none'
  readonly route: ApiRoute | undefined
}

export interface CallExchange {
  readonly ok: true
  readonly result: CallResult<unknown>
  /** The response as received; undefined if none arrived. */
  readonly response: TransportResponse | undefined
  readonly credential: string | undefined
  /** What the call sent, for the message of a failure. */
  readonly facts: CallFacts
}

/** Sends a call by method and path, or returns its plan in a dry run. */
export async function sendAny(
  context: Context,
  call: AnyCall,
  mode: SecureMode,
  timeoutMs = context.settings.timeoutMs.value,
): Promise<CallExchange | Plan | Failure> {
  const { settings, host } = context
  const base = context.baseUrl()
  if (!base.ok) return base
  const credential = call.kind === 'none' ? undefined : await context.credential(call.kind, base.value)
  if (credential?.ok === false) return credential
  const prepared = prepareAny(context, call, credential?.value)
  if (context.dryRun) {
    const { planRequest } = await import('./dry-run.js')
    const { origin } = settings.secure
    return {
      ok: false,
      plan: [planRequest(base.value, prepared.request, mode, origin.value, call.route?.body)],
    }
  }
  const refusal = await confirmCall(context, call.route, call.path)
  if (refusal !== undefined) return refusal
  const impostor = await refuseImpostor(settings, base.value)
  if (impostor !== undefined) return impostor
  showProductionBanner(context, base.value)
  const transport = await openOnce(context, base.value, mode)
  let response: TransportResponse | undefined
  const recording: Transport = async (request) => {
    response = await transport(request)
    return response
  }
  const limits = { signal: host.signal, timeoutMs }
  const result = await sendPrepared<unknown>(recording, { ...prepared, request: { ...prepared.request, ...limits } })
  if (!result.ok && result.status === 426) await forbidPlaintext(context, base.value, result.code)
  const used =
    credential === undefined || call.kind === 'none'
      ? undefined
      : usedCredential(context.globals, call.kind, credential, base.value)
  return {
    ok: true,
    result,
    response,
    credential: credential?.value,
    facts: { input: inputOf(call), credential: used },
  }
}

/** Transport of each running command: several calls of `api` share one encrypted session. */
const opened = new WeakMap<Context, Promise<Transport>>()

function openOnce(context: Context, baseUrl: string, mode: SecureMode): Promise<Transport> {
  const transport = opened.get(context) ?? openInMode(context, baseUrl, mode).then((it) => withRetries(context, it))
  opened.set(context, transport)
  return transport
}

/** Builds the request. Only known idempotent routes are repeatable: other routes ignore the Idempotency-Key. */
export function prepareAny({ globals, host }: Context, call: AnyCall, token: string | undefined): PreparedCall {
  const { method, path, body, route } = call
  const takesKey = route?.idempotent !== undefined
  const idempotencyKey = globals['idempotency-key'] ?? (takesKey ? host.newId() : undefined)
  const isMutation = mutates({ method, repeatable: route?.repeatable })
  return {
    ok: true,
    request: {
      method,
      path,
      headers: callHeaders({
        accept: route?.streams === true ? 'application/x-ndjson' : (route?.media ?? JSON_TYPE),
        media: body === undefined ? undefined : (route?.media ?? JSON_TYPE),
        authorization: token === undefined ? undefined : `Bearer ${token}`,
        idempotencyKey,
      }),
      repeatable: !isMutation || takesKey,
      ...(body === undefined ? {} : { body }),
    },
    token,
    mutates: isMutation,
    expected: expectedOf(call),
    idempotencyKey: takesKey ? idempotencyKey : undefined,
  }
}

/** True for routes that respond without the envelope: health checks, and the encrypted transport's own routes. */
export const isBare = (route: ApiRoute | undefined) => route?.caller === 'none'

/** Path and body members of a known route, as its dedicated command would send them. */
function inputOf({ path, body, route }: AnyCall): Record<string, unknown> {
  const { params } = readTarget(route?.path ?? '', path)
  return { ...asMembers(body === undefined ? undefined : parseJson(body)), ...params }
}

/** Success conditions of the call, as for the dedicated command; an unknown route needs only the envelope. */
function expectedOf({ route, body }: AnyCall): Expected {
  if (isBare(route)) return { bare: true }
  if (route?.output === undefined) return {}
  const { output, evidence } = route
  const input = asMembers(body === undefined ? undefined : parseJson(body)) ?? {}
  return { mismatchOf: (data) => findMismatch({ output, ...defined({ evidence }) }, input, data) }
}
