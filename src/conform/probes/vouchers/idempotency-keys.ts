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
const probe = probesOf('idempotency-keys', { needs, partly: ['other-operation', 'other-body', 'other-path'] })

/** The shared redemption, sent again. */
async function again(it: ProbeContext, options: { readonly key?: string; readonly credential?: string } = {}) {
  const first = await redeemed(it)
  const { input, key } = await redeemCall(it)
  const { credential } = options
  const as = credential === undefined ? 'token' : { credential }
  return { first, response: await it.call(redeem, input, { key: options.key ?? key, as }) }
}

/** Requires a response to repeat the first redemption: without its record it would be a second one, which is refused. */
function repeats(it: ProbeContext, response: Observed, firstId: string): void {
  it.equals('id of the redemption', membersOrNone(it.accepts(response)).id, firstId)
}

/** The shared redemption as bytes, over the plain transport. */
async function redeemRequest(it: ProbeContext, body: string) {
  await redeemed(it)
  const { key } = await redeemCall(it)
  const headers = { accept: 'application/json', 'content-type': 'application/json', 'idempotency-key': key }
  return { method: 'POST', path: redeem.path, headers, body }
}

/** The shared issue, sent again under its key. */
const replay = (it: ProbeContext) =>
  keep(it, 'replay of an issue', async () => {
    await issued(it)
    const { input, key, response: first } = await issueCall(it)
    return { first, response: await it.call(issue, input, { key }) }
  })

const isInvalid = (name: string, title: string, keyOf: (it: ProbeContext) => string) =>
  probe(name, title, { vouchers: 1 }, async (it) =>
    it.refuses(await tryIssue(it, {}, { key: keyOf(it) }), 400, 'IDEMPOTENCY_KEY_INVALID'),
  )

export const idempotencyKeys = [
  probe(
    'issue-without-a-key',
    'An issue without Idempotency-Key is 400 IDEMPOTENCY_KEY_REQUIRED.',
    { vouchers: 1 },
    async (it) => it.refuses(await tryIssue(it, {}, { key: null }), 400, 'IDEMPOTENCY_KEY_REQUIRED'),
  ),
  probe(
    'redeem-without-a-key',
    'A redemption without Idempotency-Key is 400 IDEMPOTENCY_KEY_REQUIRED.',
    { vouchers: 1 },
    async (it) => {
      const credential = credentialOf(it, await voucher(it))
      it.refuses(await it.call(redeem, { credential }, { key: null }), 400, 'IDEMPOTENCY_KEY_REQUIRED')
    },
  ),
  probe(
    'reverse-without-a-key',
    'A reversal without Idempotency-Key is 400 IDEMPOTENCY_KEY_REQUIRED.',
    { vouchers: 1 },
    async (it) => {
      const { redemption: first } = await newRedemption(it)
      const response = await reverse(it, first.id, null)
      it.refuses(response, 400, 'IDEMPOTENCY_KEY_REQUIRED')
    },
  ),
  probe(
    'bot-issue-with-a-key',
    'An issue by a bot accepts a key: another issue under it is refused with 409.',
    { needs: ['bot', 'chat', 'template'], vouchers: 2 },
    async (it) => {
      const key = it.resources.name()
      it.needs((await issueIntoChat(it, {}, key)).response, 'a voucher in the chat')
      it.refuses((await issueIntoChat(it, {}, key)).response, 409)
    },
  ),
  probe('verify-ignores-it', 'Verify ignores Idempotency-Key, even a malformed one.', async (it) => {
    const credential = credentialOf(it, await issued(it))
    it.needs(await it.call(verify, { credential }), 'a verification')
    it.succeeds(await it.call(verify, { credential }, { key: 'not a key' }))
  }),
  probe(
    'key-of-255',
    'A key can have 255 visible ASCII characters.',
    { vouchers: 1 },
    async (it) => void it.succeeds(await tryIssue(it, {}, { key: `${it.resources.name()}!"~`.padEnd(255, 'k') })),
  ),
  isInvalid('key-of-256', 'A key of 256 characters is 400 IDEMPOTENCY_KEY_INVALID.', (it) =>
    it.resources.name().padEnd(256, 'k'),
  ),
  isInvalid(
    'key-with-a-space',
    'A key with a space is 400 IDEMPOTENCY_KEY_INVALID.',
    (it) => `${it.resources.name()} 1`,
  ),
  probe('two-keys', 'Two headers Idempotency-Key are 400 IDEMPOTENCY_KEY_INVALID.', { vouchers: 1 }, async (it) => {
    const headers = { 'idempotency-key': [it.resources.name(), it.resources.name()] }
    it.refuses(await tryIssue(it, {}, { key: null, headers }), 400, 'IDEMPOTENCY_KEY_INVALID')
  }),
  probe('quotes', 'A key in double quotes is the key without them.', async (it) => {
    await redeemed(it)
    const { first, response } = await again(it, { key: `"${(await redeemCall(it)).key}"` })
    repeats(it, response, first.id)
  }),
  probe(
    'other-token',
    'A key is the same for all tokens of the application.',
    { needs: ['token', 'jwt', 'template'] },
    async (it) => {
      const { applicationId } = await redeemed(it)
      const { token } = await applicationToken(it, applicationId, scopes)
      const { first, response } = await again(it, { credential: token })
      repeats(it, response, first.id)
    },
  ),
  probe(
    'other-operation',
    'A key of a redemption is 409 IDEMPOTENCY_KEY_REUSED for an issue.',
    { vouchers: 1 },
    async (it) => {
      await redeemed(it)
      const { key } = await redeemCall(it)
      it.refuses(await tryIssue(it, {}, { key }), 409, 'IDEMPOTENCY_KEY_REUSED')
    },
  ),
  probe(
    'other-application',
    'Another application can use the same key.',
    { needs: ['token', 'jwt', 'template'] },
    async (it) => {
      const { id: appId } = await application(it)
      const { token } = await applicationToken(it, appId, scopes)
      const { first, response } = await again(it, { credential: token })
      const { id } = membersOrNone(response.data)
      it.holds(response.code !== 'IDEMPOTENCY_KEY_REUSED', 'not IDEMPOTENCY_KEY_REUSED', `${response.code}`)
      it.holds(id !== first.id, 'no replay for another application', 'the redemption of the first application')
    },
  ),
  probe('other-body', 'A key with another body is 409 IDEMPOTENCY_KEY_REUSED.', async (it) => {
    await redeemed(it)
    const { input, key } = await redeemCall(it)
    const response = await it.call(redeem, { ...input, reference: 'other' }, { key })
    it.refuses(response, 409, 'IDEMPOTENCY_KEY_REUSED')
  }),
  probe(
    'other-path',
    'A key of a reversal is 409 IDEMPOTENCY_KEY_REUSED for that of another redemption.',
    { vouchers: 2 },
    async (it) => {
      const { redemption: first } = await newRedemption(it)
      const { redemption: second } = await newRedemption(it)
      const key = it.resources.name()
      it.needs(await reverse(it, first.id, key), 'a reversal')
      const response = await reverse(it, second.id, key)
      it.refuses(response, 409, 'IDEMPOTENCY_KEY_REUSED')
    },
  ),
  probe('members-in-another-order', 'A body with the members in another order is the same request.', async (it) => {
    const { id } = await redeemed(it)
    const { type, value } = credentialOf(it, (await redeemCall(it)).voucher)
    const body = JSON.stringify({ credential: { value, type } })
    repeats(it, await it.send({ ...(await redeemRequest(it, body)), as: 'token' }), id)
  }),
  probe(
    'strings-by-value',
    'A body with white space and escapes of the same strings is the same request.',
    async (it) => {
      const { id } = await redeemed(it)
      const { type, value } = credentialOf(it, (await redeemCall(it)).voucher)
      const last = value
        .charCodeAt(value.length - 1)
        .toString(16)
        .padStart(4, '0')
      const escaped = `${value.slice(0, -1)}\\u${last}`
      const body = ` { "credential" : { "type" : "${type}", "value" : "${escaped}" } } `
      repeats(it, await it.send({ ...(await redeemRequest(it, body)), as: 'token' }), id)
    },
  ),
  probe(
    'encrypted-call',
    'A call is the same request over the plain and over the encrypted transport.',
    { needs: [...needs, 'secure'] },
    async (it) => {
      const { id } = await redeemed(it)
      const request = await redeemRequest(it, JSON.stringify((await redeemCall(it)).input))
      if (!it.wire.isEncrypted) return it.equals('id of the redemption', await encryptedId(it, request), id)
      const plain = await it.send({ ...request, as: 'token', plain: true })
      if (plain.status === 426) it.notApplicable('Needs a platform that accepts plain calls.')
      repeats(it, plain, id)
    },
  ),
  probe(
    'other-request-while-running',
    'Of two concurrent issues under one key one is a success and the other 409 IDEMPOTENCY_KEY_REUSED.',
    { vouchers: 2 },
    async (it) => {
      const key = it.resources.name()
      const both = await Promise.all([tryIssue(it, {}, { key }), tryIssue(it, {}, { key })])
      const failed = both.find(({ isSuccess }) => !isSuccess)
      const statuses = both.map(({ status }) => status)
      it.holds(failed !== undefined && both.some(({ isSuccess }) => isSuccess), 'one success', { statuses })
      if (failed !== undefined) it.refuses(failed, 409, 'IDEMPOTENCY_KEY_REUSED')
    },
  ),
  probe(
    'after-a-refusal',
    'A key of a refused redemption can be used again with a corrected body.',
    { vouchers: 1 },
    async (it) => {
      const credential = credentialOf(it, await voucher(it))
      const key = it.resources.name()
      const refused = await it.call(redeem, { credential, recipient_user_id: it.resources.name() }, { key })
      if (refused.status <= 299) it.notApplicable('Needs a refusal for another recipient.')
      it.succeeds(await it.call(redeem, { credential }, { key }))
    },
  ),
  probe(
    'late-retry',
    'A retry of a redemption after its reversal returns the first response and does not redeem again.',
    { vouchers: 1 },
    async (it) => {
      const { voucher: one, input, key, redemption: first } = await newRedemption(it)
      it.needs(await reverse(it, first.id), 'a reversal')
      const before = it.needs(await verifyVoucher(it, one), 'a verification')
      it.equals('data', it.accepts(await it.call(redeem, input, { key })), first)
      const after = it.needs(await verifyVoucher(it, one), 'a verification')
      it.equals('voucher', after.voucher, before.voucher)
    },
  ),
  probe('replay-status', 'A replay has the status of the first response.', async (it) => {
    const { first, response } = await replay(it)
    it.accepts(response, first.status)
  }),
  probe('replay-data', 'A replay has the data of the first response, with the credentials.', async (it) => {
    const { first, response } = await replay(it)
    it.equals('data', it.accepts(response), first.data)
  }),
  probe('replay-of-a-redemption', 'A replay of a redemption has the data of the first response.', async (it) => {
    const { first, response } = await again(it)
    it.equals('data', it.accepts(response), first)
  }),
  probe('replay-of-a-reversal', 'A replay of a reversal has the data of the first response.', async (it) => {
    const { redemption, key, response } = await reversal(it)
    it.equals('data', it.accepts(await reverse(it, redemption.id, key)), it.needs(response, 'a reversal'))
  }),
  probe('replay-request-id', 'A replay has a request id of its own.', async (it) => {
    const { first, response } = await replay(it)
    it.needs(response, 'a replay')
    const ids = [first, response].map(({ json }) => membersOrNone(json).requestId)
    if (!ids.every((id) => typeof id === 'string')) it.notApplicable('Needs requestId in the envelope.')
    it.holds(ids[0] !== ids[1], 'another requestId than that of the first response', ids)
  }),
  probe('replay-header', 'A replay has Idempotent-Replayed: true.', async (it) => {
    const { response } = await again(it)
    it.needs(response, 'a replay')
    it.equals('Idempotent-Replayed', response.headers['idempotent-replayed']?.toLowerCase(), 'true')
  }),
]

/** Sends a redemption through an encrypted session of its own; resolves to its id, or to the code of a 409. */
async function encryptedId(it: ProbeContext, request: Awaited<ReturnType<typeof redeemRequest>>): Promise<unknown> {
  const plain: Transport = async ({ method, path, headers, body }) => {
    const sent = { method, path, headers, plain: true, ...(body === undefined ? {} : { body }) } as const
    const { status, headers: received, text } = await it.wire.send(sent)
    return { status, headers: received, body: text }
  }
  try {
    const authorization = `Bearer ${it.resources.credential('token')}`
    const transport = withSecure(plain, { mode: 'required', trustedChannel: true })
    const { status, body } = await transport({ ...request, headers: { ...request.headers, authorization } })
    const { data, code } = membersOrNone(JSON.parse(body))
    if (status === 409) return code
    if (status > 299) it.notApplicable(`Needs an encrypted call: status ${status}.`)
    return membersOrNone(data).id
  } catch (error) {
    if (!isTransportError(error)) throw error
    return it.notApplicable(`Needs an encrypted session: ${error.message}.`)
  }
}
