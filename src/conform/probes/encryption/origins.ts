import { contract } from '../../../contract/index.js'
import { encodeBase64url } from '../../../values/base64url.js'
import { application, applicationToken } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone, type WireRequest } from '../../wire.js'
import {
  anyCall,
  callSession,
  dispatch,
  type Inner,
  inside,
  isInnerSuccess,
  newKeyPair,
  ORIGIN,
  said,
  sealed,
  session,
} from './session.js'

const probe = probesOf('session-origins', {
  needs: ['secure'],
  specified: ['bound', 'same-origin', 'allowed'],
  partly: ['other-origin', 'missing-origin', 'added-origin', 'not-allowed'],
})

/** Sends a call of a session with these headers in place of its own origin, and says that it is refused. */
async function refusedFrom(it: ProbeContext, bound: string, headers: WireRequest['headers']): Promise<void> {
  const through = await session(it, bound)
  const { status } = await dispatch(it, { origin: '' }, sealed(through, anyCall(it)), { headers })
  it.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
}

const needs = ['secure', 'jwt'] as const

/** Makes a read with a token of an application that allows only one origin, in a session with `origin`. */
async function readOf(it: ProbeContext, origin: string): Promise<Inner> {
  const { id: appId } = await application(it)
  const { token } = await it.resources.once('token of an origin', () => applicationToken(it, appId, ['vouchers:read']))
  const call = anyCall(it, { headers: { accept: 'application/json', authorization: `Bearer ${token}` } })
  const through = await session(it, origin)
  const before = await inside(it, call, { session: through })
  if (!isInnerSuccess(before)) it.notApplicable(`Needs an inner success: ${said(before)}.`)
  const changed = await it.call(contract.apps.update, { appId, allowed_origins: [ORIGIN] })
  try {
    it.needs(changed, 'an application that allows one origin')
    return await inside(it, call, { session: through })
  } finally {
    await it.call(contract.apps.update, { appId, allowed_origins: ['*'] })
  }
}

export const sessionOrigins = [
  probe('bound', 'A session is bound to the Origin header of its request.', async (it) => {
    const response = await callSession(
      it,
      { clientPublicKey: encodeBase64url(newKeyPair().publicKey) },
      { origin: ORIGIN },
    )
    if (response.status >= 400) it.notApplicable(`Needs a session for ${ORIGIN}: ${response.code ?? response.status}.`)
    it.equals('origin', membersOrNone(response.json).origin, ORIGIN)
  }),
  probe('same-origin', 'A call with the origin of its session is accepted.', async (it) => {
    const through = await session(it, ORIGIN)
    const { status, code } = await dispatch(it, through, sealed(through, anyCall(it)))
    it.holds(status < 400, 'status 200', `status ${status} ${code ?? ''}`)
  }),
  probe('other-origin', 'A call with another origin than its session is refused.', async (it) =>
    refusedFrom(it, ORIGIN, { origin: 'https://elsewhere.example' }),
  ),
  probe('missing-origin', 'A call without the origin of its session is refused.', async (it) =>
    refusedFrom(it, ORIGIN, {}),
  ),
  probe('added-origin', 'A call with an origin in a session without one is refused.', async (it) =>
    refusedFrom(it, '', { origin: ORIGIN }),
  ),
  probe('other-case', 'Origins are compared byte for byte: another case is refused.', async (it) =>
    refusedFrom(it, ORIGIN, { origin: ORIGIN.replace('conform', 'Conform') }),
  ),
  probe('two-origins-of-a-call', 'A call with two Origin headers matches no session.', async (it) =>
    refusedFrom(it, ORIGIN, { origin: [ORIGIN, ORIGIN] }),
  ),
  probe('two-origins-of-a-session', 'A session call with two Origin headers is refused with 403.', async (it) => {
    await session(it, ORIGIN)
    const key = { clientPublicKey: encodeBase64url(newKeyPair().publicKey) }
    it.refuses(await callSession(it, key, { origin: [ORIGIN, ORIGIN] }), 403, 'SECURE_ORIGIN_NOT_ALLOWED')
  }),
  probe('allowed', 'An application that lists an origin accepts calls of its sessions.', { needs }, async (it) => {
    const inner = await readOf(it, ORIGIN)
    it.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
  probe('not-allowed', 'An application that lists origins refuses a session without one.', { needs }, async (it) => {
    const inner = await readOf(it, '')
    const fits = inner.status === 403 && inner.body.code === 'ORIGIN_NOT_ALLOWED'
    it.holds(fits, 'inner status 403 ORIGIN_NOT_ALLOWED', said(inner))
  }),
]
