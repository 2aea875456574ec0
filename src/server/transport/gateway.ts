import { type Refusal, refuse } from '../../contract/errors.js'
import * as contract from '../../contract/secure.js'
import { createServerSession, describeServer } from '../../secure/server/session.js'
import { asMembers } from '../../values/json.js'
import type { Deps } from '../deps.js'
import { invalid } from '../handler.js'
import { ISSUES_MAX, readJson, refuseEncoding, unknownMember } from '../http/body.js'
import { type Exchange, headerValues, jsonReply, refuseBody } from '../http/exchange.js'
import type { Routes } from '../http/routes.js'
import { rateLimited } from '../limits.js'

/** Members of a session call; `publicKey` is an alias of the first (rules/encryption.md#bootstrap-and-session). */
const SESSION_MEMBERS = ['clientPublicKey', 'publicKey', 'kid', 'v', 'suite']

/** Creates the routes of bootstrap and session (rules/encryption.md#bootstrap-and-session). */
export function bindSecureGateway(routes: Routes, deps: Deps): void {
  const { secure, clock, random, limits, addresses } = deps

  routes.add({
    method: 'GET',
    endpoint: contract.bootstrap,
    handle: ({ query }) =>
      refuseUnknown(query, []) ?? jsonReply(describeServer(secure.keys.current, secure.enabled, clock.now())),
  })

  routes.add({
    method: 'POST',
    endpoint: contract.session,
    admit: (exchange) => {
      const refusal = secure.enabled ? refuseOverLimit(exchange) : refuse('SECURE_TRANSPORT_DISABLED')
      if (refusal !== null) return refusal
      const unread = refuseEncoding(exchange)
      return unread && malformed(exchange, unread)
    },
    handle: async (exchange) => {
      const read = await readJson(exchange)
      if (!read.ok) return refuseBody(exchange, malformed(exchange, read))
      const { value: body } = read
      const unknown = refuseUnknown(exchange.query, []) ?? refuseUnknown(body, SESSION_MEMBERS)
      if (unknown !== null) return malformed(exchange, unknown)
      // Check again: concurrent calls from the same address may have used up the limit since the headers arrived.
      const refusal = refuseOverLimit(exchange)
      if (refusal !== null) return refusal
      const now = clock.now()
      const creation = createServerSession(
        { body, origin: originOf(exchange) },
        {
          allowedOrigins: secure.allowedOrigins,
          brand: secure.brand,
          keyFor: (kid) => secure.keys.keyFor(kid, now),
          now,
          randomBytes: random,
        },
      )
      if (!creation.ok) return malformed(exchange, creation)
      limits.take('secure_session', addresses.limitSubject(exchange))
      await secure.sessions.add(creation.session)
      return jsonReply(creation.response)
    },
  })

  function refuseOverLimit(exchange: Exchange): Refusal | null {
    const verdict = limits.peek('secure_session', addresses.limitSubject(exchange))
    return verdict === null || verdict.remaining > 0 ? null : rateLimited(verdict)
  }

  /** Counts malformed session calls in a separate window: they cost no cryptography and must not use up the limit. */
  function malformed(exchange: Exchange, refusal: Refusal): Refusal {
    const verdict = limits.take('secure_session', `malformed ${addresses.limitSubject(exchange)}`)
    return verdict === null || verdict.allowed ? refusal : rateLimited(verdict)
  }
}

/** Reads the Origin header. Joins several values to one text, which no list of origins can match. */
export function originOf(request: Pick<Exchange, 'rawHeaders'>): string | undefined {
  const values = headerValues(request, 'origin')
  return values.length === 0 ? undefined : values.join(', ')
}

export function refuseUnknown(value: unknown, known: readonly string[]): Refusal<'VALIDATION_FAILED'> | null {
  const unknown = Object.keys(asMembers(value) ?? {}).filter((name) => !known.includes(name))
  if (unknown.length === 0) return null
  const errors = unknown.slice(0, ISSUES_MAX).map((name) => unknownMember('', name, known))
  return invalid(...errors)
}
