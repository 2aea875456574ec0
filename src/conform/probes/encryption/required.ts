import { contract } from '../../../contract/index.js'
import { application, applicationToken } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import type { WireRequest } from '../../wire.js'
import { anyCall, inside, isInnerSuccess, said } from './session.js'

const probe = probesOf('required-encryption', { needs: ['secure', 'jwt'] })
const { apps, templates, vouchers } = contract

/**
 * Runs calls while the run's application requires the encrypted transport. Its token goes over the wire in plain text,
 * has one scope, and ends with the run.
 */
async function whileRequired<T>(run: ProbeContext, act: (authorization: string) => Promise<T>): Promise<T> {
  const { id: appId } = await application(run)
  const { token } = await run.resources.once('token of required', () => applicationToken(run, appId, ['vouchers:read']))
  run.needs(await run.call(templates.list, {}, { as: { credential: token } }), 'a list of templates')
  const changed = await run.call(apps.update, { appId, secure_transport: 'required' })
  try {
    run.needs(changed, 'an application that requires the encrypted transport')
    return await act(`Bearer ${token}`)
  } finally {
    await run.call(apps.update, { appId, secure_transport: 'optional' })
  }
}

/** Response to a plain-text call. A platform that always requires encryption needs no application for this. */
async function plainResponse(
  run: ProbeContext,
  request: Pick<WireRequest, 'method' | 'path' | 'body'>,
): Promise<Observed> {
  const headers = {
    accept: 'application/json',
    ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const anonymous = await run.send({ ...request, headers, plain: true })
  if (anonymous.status === 426) return anonymous
  if (run.wire.isEncrypted) run.notApplicable('Would send a credential in plain text.')
  return whileRequired(run, (authorization) =>
    run.send({ ...request, headers: { ...headers, authorization }, plain: true }),
  )
}

const readTemplates = { method: 'GET', path: templates.list.path }
const words = (value = '') => value.toLowerCase().split(/\s*,\s*/)

export const requiredEncryption = [
  probe.specified(1, 'plain-call', 'Where encryption is required, a plain call is refused with 426.', async (run) =>
    run.refuses(await plainResponse(run, readTemplates), 426, 'SECURE_TRANSPORT_REQUIRED'),
  ),
  probe(2, 'before-the-body', 'The body of such a call is not read before.', async (run) => {
    run.needsRefusal(await plainResponse(run, readTemplates), 426)
    run.refuses(await plainResponse(run, { method: 'POST', path: vouchers.issue.path, body: '{' }), 426)
  }),
  probe(2, 'upgrade', 'A 426 names the protocol: Upgrade: platform-secure/1, Connection: Upgrade.', async (run) => {
    const { headers } = run.needsRefusal(await plainResponse(run, readTemplates), 426)
    const fits = words(headers.upgrade).includes('platform-secure/1') && words(headers.connection).includes('upgrade')
    run.holds(fits, 'Upgrade: platform-secure/1 and Connection: Upgrade', {
      upgrade: headers.upgrade,
      connection: headers.connection,
    })
  }),
  probe.specified(1, 'encrypted-call', 'Where encryption is required, an encrypted call is accepted.', async (run) => {
    const before = await inside(run, anyCall(run))
    if (before.body.success === true && !isInnerSuccess(before)) run.notApplicable(`Needs a success: ${said(before)}.`)
    const inner = await whileRequired(run, (authorization) => inside(run, anyCall(run, { headers: { authorization } })))
    run.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
]
