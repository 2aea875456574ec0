import { isDeepStrictEqual } from 'node:util'
import { withSecure } from '../../../client/secure.js'
import { isTransportError, type Transport } from '../../../client/transport.js'
import { scopes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { application, applicationToken, credentialOf, tryIssue, voucher } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import {
  issueCall,
  issued,
  issueIntoChat,
  keep,
  newRedemption,
  redeemCall,
  redeemed,
  reversal,
  reverse,
  verify as verifyVoucher,
} from './shared.js'

const { issue, redeem, verify } = contract.vouchers
const needs: readonly Need[] = ['token', 'template']
const probe = probesOf('idempotency-keys', { kind: 'money', needs })
const issuing = probe.with({ vouchers: 1 })
const tokensProbe = probe.with({ needs: ['token', 'jwt', 'template'] })
const tenantProbe = tokensProbe.with({ kind: 'tenant' })
const issuingTwo = probe.with({ vouchers: 2 })

async function again(run: ProbeContext, options: { readonly key?: string; readonly credential?: string } = {}) {
  const first = await redeemed(run)
  const { input, key } = await redeemCall(run)
  const { credential } = options
  const as = credential === undefined ? 'token' : { credential }
  return { first, response: await run.call(redeem, input, { key: options.key ?? key, as }) }
}

/** Requires the replay of the first redemption: without its record, a second redemption would be refused. */
function repeats(run: ProbeContext, response: Observed, firstId: string): void {
  run.equals('id of the redemption', membersOrNone(run.accepts(response)).id, firstId)
}

/** Builds the shared redemption as a plain request, so that a probe can choose the bytes of the body. */
async function redeemRequest(run: ProbeContext, body: string) {
  await redeemed(run)
  const { key } = await redeemCall(run)
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'idempotency-key': key }
  return { method: 'POST', path: redeem.path, headers, body }
}

const replay = (run: ProbeContext) =>
  keep(run, 'replay of an issue', async () => {
    await issued(run)
    const { input, key, response: first } = await issueCall(run)
    return { first, response: await run.call(issue, input, { key }) }
  })

const isInvalid = (name: string, title: string, keyOf: (it: ProbeContext) => string) =>
  issuing(2, name, title, async (run) =>
    run.refuses(await tryIssue(run, {}, { key: keyOf(run) }), 400, 'IDEMPOTENCY_KEY_INVALID'),
  )

export const idempotencyKeys = [
  issuing(2, 'issue-without-a-key', 'An issue without Idempotency-Key is 400 IDEMPOTENCY_KEY_REQUIRED.', async (it) =>
    it.refuses(await tryIssue(it, {}, { key: null }), 400, 'IDEMPOTENCY_KEY_REQUIRED'),
  ),
  issuing(2, 'redeem-without-a-key', 'A redemption without a key is 400 IDEMPOTENCY_KEY_REQUIRED.', async (run) => {
    const credential = credentialOf(run, await voucher(run))
    run.refuses(await run.call(redeem, { credential }, { key: null }), 400, 'IDEMPOTENCY_KEY_REQUIRED')
  }),
  issuing(2, 'reverse-without-a-key', 'A reversal without a key is 400 IDEMPOTENCY_KEY_REQUIRED.', async (run) => {
    const { redemption: first } = await newRedemption(run)
    const response = await reverse(run, first.id, null)
    run.refuses(response, 400, 'IDEMPOTENCY_KEY_REQUIRED')
  }),
  probe.with({ needs: ['bot', 'chat', 'template'], vouchers: 2 })(
    2,
    'bot-issue-with-a-key',
    'An issue by a bot accepts a key: another issue under it is refused with 409.',
    async (run) => {
      const key = run.resources.name()
      run.needs((await issueIntoChat(run, {}, key)).response, 'a voucher in the chat')
      run.refuses((await issueIntoChat(run, {}, key)).response, 409)
    },
  ),
  probe(2, 'verify-ignores-it', 'Verify ignores Idempotency-Key, even a malformed one.', async (run) => {
    const credential = credentialOf(run, await issued(run))
    run.needs(await run.call(verify, { credential }), 'a verification')
    run.succeeds(await run.call(verify, { credential }, { key: 'not a key' }))
  }),
  issuing(
    2,
    'key-of-255',
    'A key can have 255 visible ASCII characters.',
    async (it) => void it.succeeds(await tryIssue(it, {}, { key: `${it.resources.name()}!"~`.padEnd(255, 'k') })),
  ),
  isInvalid('key-of-256', 'A key of 256 characters is 400 IDEMPOTENCY_KEY_INVALID.', (run) =>
    run.resources.name().padEnd(256, 'k'),
  ),
  isInvalid(
    'key-with-a-space',
    'A key with a space is 400 IDEMPOTENCY_KEY_INVALID.',
    (it) => `${it.resources.name()} 1`,
  ),
  issuing(2, 'two-keys', 'Two headers Idempotency-Key are 400 IDEMPOTENCY_KEY_INVALID.', async (run) => {
    const headers = { 'idempotency-key': [run.resources.name(), run.resources.name()] }
    run.refuses(await tryIssue(run, {}, { key: null, headers }), 400, 'IDEMPOTENCY_KEY_INVALID')
  }),
  probe(2, 'quotes', 'A key in double quotes is the key without them.', async (run) => {
    await redeemed(run)
    const { first, response } = await again(run, { key: `"${(await redeemCall(run)).key}"` })
    repeats(run, response, first.id)
  }),
  tokensProbe(3, 'other-token', 'A key is the same for all tokens of the application.', async (run) => {
    const { applicationId } = await redeemed(run)
    const { token } = await applicationToken(run, applicationId, scopes)
    const { first, response } = await again(run, { credential: token })
    repeats(run, response, first.id)
  }),
  probe(3, 'other-case', 'A key in upper case is another key.', async (run) => {
    await redeemed(run)
    const { first, response } = await again(run, { key: (await redeemCall(run)).key.toUpperCase() })
    const { id } = membersOrNone(response.data)
    run.holds(id !== first.id, 'no replay under another key', 'the redemption under the key in lower case')
  }),
  issuing.partly(1, 'other-operation', 'A redemption key is 409 IDEMPOTENCY_KEY_REUSED for an issue.', async (run) => {
    await redeemed(run)
    const { key } = await redeemCall(run)
    run.refuses(await tryIssue(run, {}, { key }), 409, 'IDEMPOTENCY_KEY_REUSED')
  }),
  tenantProbe(3, 'other-application', 'Another application can use the same key.', async (run) => {
    const { id: appId } = await application(run)
    const { token } = await applicationToken(run, appId, scopes)
    const { first, response } = await again(run, { credential: token })
    const { id } = membersOrNone(response.data)
    run.holds(response.code !== 'IDEMPOTENCY_KEY_REUSED', 'not IDEMPOTENCY_KEY_REUSED', `${response.code}`)
    run.holds(id !== first.id, 'no replay for another application', 'the redemption of the first application')
  }),
  probe.partly(1, 'other-body', 'A key with another body is 409 IDEMPOTENCY_KEY_REUSED.', async (run) => {
    await redeemed(run)
    const { input, key } = await redeemCall(run)
    const response = await run.call(redeem, { ...input, reference: 'other' }, { key })
    run.refuses(response, 409, 'IDEMPOTENCY_KEY_REUSED')
  }),
  issuingTwo.partly(1, 'other-path', 'A reversal key is 409 IDEMPOTENCY_KEY_REUSED for another one.', async (run) => {
    const { redemption: first } = await newRedemption(run)
    const { redemption: second } = await newRedemption(run)
    const key = run.resources.name()
    run.needs(await reverse(run, first.id, key), 'a reversal')
    const response = await reverse(run, second.id, key)
    run.refuses(response, 409, 'IDEMPOTENCY_KEY_REUSED')
  }),
  probe(3, 'members-in-another-order', 'A body with the members in another order is the same request.', async (run) => {
    const { id } = await redeemed(run)
    const { type, value } = credentialOf(run, (await redeemCall(run)).voucher)
    const body = JSON.stringify({ credential: { value, type } })
    repeats(run, await run.send({ ...(await redeemRequest(run, body)), as: 'token' }), id)
  }),
  probe(3, 'strings-by-value', 'A body with white space and escaped strings is the same request.', async (run) => {
    const { id } = await redeemed(run)
    const { type, value } = credentialOf(run, (await redeemCall(run)).voucher)
    const last = value
      .charCodeAt(value.length - 1)
      .toString(16)
      .padStart(4, '0')
    const escaped = `${value.slice(0, -1)}\\u${last}`
    const body = ` { "credential" : { "type" : "${type}", "value" : "${escaped}" } } `
    repeats(run, await run.send({ ...(await redeemRequest(run, body)), as: 'token' }), id)
  }),
  probe.with({ needs: [...needs, 'secure'] })(
    3,
    'encrypted-call',
    'A call is the same request over the plain and over the encrypted transport.',
    async (run) => {
      const { id } = await redeemed(run)
      const request = await redeemRequest(run, JSON.stringify((await redeemCall(run)).input))
      if (!run.wire.isEncrypted) return run.equals('id of the redemption', await encryptedId(run, request), id)
      const plain = await run.send({ ...request, as: 'token', plain: true })
      if (plain.status === 426) run.notApplicable('Needs a platform that accepts plain calls.')
      repeats(run, plain, id)
    },
  ),
  issuingTwo(
    4,
    'other-request-while-running',
    'Of two concurrent issues under one key one is a success and the other 409 IDEMPOTENCY_KEY_REUSED.',
    async (run) => {
      const key = run.resources.name()
      const both = await Promise.all([tryIssue(run, {}, { key }), tryIssue(run, {}, { key })])
      const failed = both.find(({ isSuccess }) => !isSuccess)
      const statuses = both.map(({ status }) => status)
      run.holds(failed !== undefined && both.some(({ isSuccess }) => isSuccess), 'one success', { statuses })
      if (failed !== undefined) run.refuses(failed, 409, 'IDEMPOTENCY_KEY_REUSED')
    },
  ),
  issuing(4, 'after-a-refusal', 'A key of a refused redemption can be reused with a corrected body.', async (run) => {
    const credential = credentialOf(run, await voucher(run))
    const key = run.resources.name()
    const refused = await run.call(redeem, { credential, recipient_user_id: run.resources.name() }, { key })
    run.holds(refused.status > 299, 'a refusal for another recipient', `status ${refused.status}`)
    run.succeeds(await run.call(redeem, { credential }, { key }))
  }),
  issuing(4, 'refusal-of-the-same-body', 'A key of a refused redemption works once the cause is gone.', async (run) => {
    const { input, redemption: first } = await newRedemption(run)
    const key = run.resources.name()
    run.needsRefusal(await run.call(redeem, input, { key }))
    run.needs(await reverse(run, first.id), 'a reversal')
    const again = await run.call(redeem, input, { key })
    const { last } = run.wire
    if (!again.isSuccess) run.needs(await run.call(redeem, input), 'a voucher that can be redeemed after a reversal')
    run.wire.last = last
    run.succeeds(again)
  }),
  issuing.partly(1, 'late-retry', 'A retry of a reversed redemption is a replay and redeems nothing.', async (run) => {
    const { voucher: one, input, key, redemption: first } = await newRedemption(run)
    run.needs(await reverse(run, first.id), 'a reversal')
    const before = run.needs(await verifyVoucher(run, one), 'a verification')
    const { fault, data, status } = await run.call(redeem, input, { key })
    const after = run.needs(await verifyVoucher(run, one), 'a verification')
    run.equals('voucher', after.voucher, before.voucher)
    const isFirst = fault === undefined && isDeepStrictEqual(data, first)
    run.holds(isFirst, 'the data of the first response', data ?? `status ${status}`, 'decided')
  }),
  probe(5, 'replay-status', 'A replay has the status of the first response.', async (run) => {
    const { first, response } = await replay(run)
    run.accepts(response, first.status)
  }),
  probe(5, 'replay-data', 'A replay has the data of the first response, with the credentials.', async (run) => {
    const { first, response } = await replay(run)
    run.equals('data', run.accepts(response), first.data)
  }),
  probe(5, 'replay-of-a-redemption', 'A replay of a redemption has the data of the first response.', async (run) => {
    const { first, response } = await again(run)
    run.equals('data', run.accepts(response), first)
  }),
  probe(5, 'replay-of-a-reversal', 'A replay of a reversal has the data of the first response.', async (run) => {
    const { redemption, key, response } = await reversal(run)
    run.equals('data', run.accepts(await reverse(run, redemption.id, key)), run.needs(response, 'a reversal'))
  }),
  probe(5, 'replay-request-id', 'A replay has its own request id.', async (run) => {
    const { first, response } = await replay(run)
    run.needs(response, 'a replay')
    const ids = [first, response].map(({ json }) => membersOrNone(json).requestId)
    if (!ids.every((id) => typeof id === 'string')) run.notApplicable('Needs requestId in the envelope.')
    run.holds(ids[0] !== ids[1], 'another requestId than in the first response', ids)
  }),
  probe(5, 'replay-header', 'A replay has Idempotent-Replayed: true.', async (run) => {
    const { response } = await again(run)
    run.needs(response, 'a replay')
    run.equals('Idempotent-Replayed', response.headers['idempotent-replayed']?.toLowerCase(), 'true')
  }),
]

/** Sends a redemption through a separate encrypted session; resolves to its id, or to the code of a 409. */
async function encryptedId(run: ProbeContext, request: Awaited<ReturnType<typeof redeemRequest>>): Promise<unknown> {
  const plain: Transport = async ({ method, path, headers, body }) => {
    const sent = { method, path, headers, plain: true, ...(body === undefined ? {} : { body }) } as const
    const { status, headers: received, text } = await run.wire.send(sent)
    return { status, headers: received, body: text }
  }
  try {
    const authorization = `Bearer ${run.resources.credential('token')}`
    const transport = withSecure(plain, { mode: 'required', trustedChannel: true })
    const { status, body } = await transport({ ...request, headers: { ...request.headers, authorization } })
    const { data, code } = membersOrNone(JSON.parse(body))
    if (status === 409) return code
    if (status > 299) run.notApplicable(`Needs an encrypted call: status ${status}.`)
    return membersOrNone(data).id
  } catch (error) {
    if (!isTransportError(error)) throw error
    return run.notApplicable(`Needs an encrypted session: ${error.message}.`)
  }
}
