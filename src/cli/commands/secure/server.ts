import { randomBytes } from 'node:crypto'
import { failureOfTransport } from '../../../client/failure.js'
import { secureError } from '../../../client/secure.js'
import { makeClientKeyPair } from '../../../secure/client/key.js'
import {
  type Bootstrap,
  bootstrapRequest,
  type ClientSession,
  clockOffsetOf,
  type DisabledBootstrap,
  readBootstrap,
  readSession,
  sessionRequest,
} from '../../../secure/client/negotiation.js'
import { exchange, fail as failSecurely, type Phase, type SecureFailure } from '../../../secure/failure.js'
import type { HttpRequest, HttpResponse } from '../../../secure/http.js'
import type { Context } from '../../command/context.js'
import { openPlain, proxyOf } from '../../command/transport.js'
import { refuseImpostor } from '../../config/local-server.js'
import { fromCall } from '../../failures/call-failure.js'
import type { Failure } from '../../failures/failure.js'

/** Makes the encryption calls to the chosen server without retries, so that each call is one HTTP exchange. */
export interface SecureServer {
  readonly baseUrl: string
  send(
    request: HttpRequest,
    phase: Phase,
  ): Promise<{ readonly ok: true; readonly response: HttpResponse } | SecureFailure>
}

export async function reach(context: Context): Promise<{ readonly ok: true; readonly server: SecureServer } | Failure> {
  const base = context.baseUrl()
  if (!base.ok) return base
  const proxy = await proxyOf(context.host, base.value)
  if (!proxy.ok) return proxy
  const impostor = context.dryRun ? undefined : await refuseImpostor(context.settings, base.value)
  if (impostor !== undefined) return impostor
  const transport = await openPlain(context, base.value)
  const limits = { signal: context.host.signal, timeoutMs: context.settings.timeoutMs.value }
  return {
    ok: true,
    server: {
      baseUrl: base.value,
      send: (request, phase) => exchange(transport, { ...request, ...limits }, phase),
    },
  }
}

/** Result of the bootstrap call; `offset` is the lead of the server's clock in milliseconds. */
type Description =
  | { readonly ok: true; readonly bootstrap: Bootstrap; readonly offset: number }
  | { readonly ok: true; readonly bootstrap: DisabledBootstrap }
  | SecureFailure

export async function describeServer(
  { send }: SecureServer,
  now: () => number,
  pins: readonly string[],
): Promise<Description> {
  const asked = now()
  const sent = await send(bootstrapRequest, 'bootstrap')
  if (!sent.ok) return sent
  const bootstrap = readBootstrap(sent.response, pins)
  if (!bootstrap.ok) return bootstrap
  if (!bootstrap.enabled) return { ok: true, bootstrap }
  return { ok: true, bootstrap, offset: clockOffsetOf(bootstrap.serverTime, asked, now()) }
}

/** Fetches the bootstrap document, checks its key against the pins, and opens an encrypted session. */
export async function openSession(
  server: SecureServer,
  now: () => number,
  pins: readonly string[],
  origin: string,
): Promise<{ readonly ok: true; readonly session: ClientSession; readonly serverNow: number } | SecureFailure> {
  const described = await describeServer(server, now, pins)
  if (!described.ok) return described
  if (!('offset' in described)) return disabled()
  const { bootstrap, offset } = described
  const keyPair = makeClientKeyPair(randomBytes)
  const opened = await server.send(sessionRequest(bootstrap, keyPair, origin), 'session')
  if (!opened.ok) return opened
  const serverNow = now() + offset
  const read = readSession(opened.response, bootstrap, keyPair, { origin, serverNow })
  return read.ok ? { ...read, serverNow } : read
}

export const disabled = () => failSecurely('SECURE_TRANSPORT_DISABLED', 'bootstrap')

/** Converts a failure of the encryption to a command's failure: exit code 10, or 9 without a response. */
export async function failureOf(failure: SecureFailure): Promise<Failure> {
  return fromCall(failureOfTransport(secureError(failure, {}), { idempotencyKey: undefined, mutates: false }))
}
