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

const probe = probesOf('session-origins', { needs: ['secure'] })

/** Tests that a call of a session is refused if it has these headers in place of the session's origin. */
async function refusedFrom(run: ProbeContext, bound: string, headers: WireRequest['headers']): Promise<void> {
  const through = await session(run, bound)
  const { status } = await dispatch(run, { origin: '' }, sealed(through, anyCall(run)), { headers })
  run.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
}

const listing = probe.with({ needs: ['secure', 'jwt'] })

/** Makes a read in a session with `origin`, with a token of an application that allows only one origin. */
async function readOf(run: ProbeContext, origin: string): Promise<Inner> {
  const { id: appId } = await application(run)
  const { token } = await run.resources.once('token of an origin', () =>
    applicationToken(run, appId, ['vouchers:read']),
  )
  const call = anyCall(run, { headers: { accept: 'application/json', authorization: `Bearer ${token}` } })
  const through = await session(run, origin)
  const before = await inside(run, call, { session: through })
  if (!isInnerSuccess(before)) run.notApplicable(`Needs an inner success: ${said(before)}.`)
  const changed = await run.call(contract.apps.update, { appId, allowed_origins: [ORIGIN] })
  try {
    run.needs(changed, 'an application that allows one origin')
    return await inside(run, call, { session: through })
  } finally {
    await run.call(contract.apps.update, { appId, allowed_origins: ['*'] })
  }
}

export const sessionOrigins = [
  probe.specified(1, 'bound', 'A session is bound to the Origin header of its request.', async (run) => {
    const response = await callSession(
      run,
      { clientPublicKey: encodeBase64url(newKeyPair().publicKey) },
      { origin: ORIGIN },
    )
    if (response.status >= 400) run.notApplicable(`Needs a session for ${ORIGIN}: ${response.code ?? response.status}.`)
    run.equals('origin', membersOrNone(response.json).origin, ORIGIN)
  }),
  probe.specified(1, 'same-origin', 'A call with the origin of its session is accepted.', async (run) => {
    const through = await session(run, ORIGIN)
    const { status, code } = await dispatch(run, through, sealed(through, anyCall(run)))
    run.holds(status < 400, 'status 200', `status ${status} ${code ?? ''}`)
  }),
  probe.partly(1, 'other-origin', 'A call with another origin than its session is refused.', async (run) =>
    refusedFrom(run, ORIGIN, { origin: 'https://elsewhere.example' }),
  ),
  probe.partly(1, 'missing-origin', 'A call without the origin of its session is refused.', async (run) =>
    refusedFrom(run, ORIGIN, {}),
  ),
  probe.partly(1, 'added-origin', 'A call with an origin in a session without one is refused.', async (run) =>
    refusedFrom(run, '', { origin: ORIGIN }),
  ),
  probe(2, 'other-case', 'Origins are compared byte for byte: another case is refused.', async (run) =>
    refusedFrom(run, ORIGIN, { origin: ORIGIN.replace('conform', 'Conform') }),
  ),
  probe(2, 'two-origins-of-a-call', 'A call with two Origin headers matches no session.', async (run) =>
    refusedFrom(run, ORIGIN, { origin: [ORIGIN, ORIGIN] }),
  ),
  probe(2, 'two-origins-of-a-session', 'A session call with two Origin headers is refused with 403.', async (run) => {
    await session(run, ORIGIN)
    const key = { clientPublicKey: encodeBase64url(newKeyPair().publicKey) }
    run.refuses(await callSession(run, key, { origin: [ORIGIN, ORIGIN] }), 403, 'SECURE_ORIGIN_NOT_ALLOWED')
  }),
  listing.specified(1, 'allowed', 'An application that lists an origin accepts calls of its sessions.', async (run) => {
    const inner = await readOf(run, ORIGIN)
    run.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
  listing.partly(2, 'not-allowed', 'An application that lists origins refuses a session without one.', async (run) => {
    const inner = await readOf(run, '')
    const fits = inner.status === 403 && inner.body.code === 'ORIGIN_NOT_ALLOWED'
    run.holds(fits, 'inner status 403 ORIGIN_NOT_ALLOWED', said(inner))
  }),
]
