import { contract } from '../../../contract/index.js'
import type { Members } from '../../../values/json.js'
import { issueInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { anyCall, type Inner, inside, isInnerSuccess, said, TEMPLATES } from './session.js'

const probe = probesOf('inner-requests', {
  needs: ['secure', 'token'],
  specified: ['query', 'authorization', 'idempotency-key'],
  partly: ['other-prefix', 'query-in-path', 'hash', 'backslash', 'secure-path'],
})
const responses = probesOf('inner-responses', { needs: ['secure', 'token'], specified: ['success', 'refusal'] })

const BODY_BYTES = 65_536
const { issue, verify } = contract.vouchers

const SEGMENT = '/api/v1/open-platform/vouchers'
const refusedPaths: readonly (readonly [name: string, what: string, path: string])[] = [
  ['other-prefix', 'outside of /api/v1/', '/api/v2/open-platform/vouchers/templates'],
  ['query-in-path', 'with a query', `${TEMPLATES}?limit=1`],
  ['hash', 'with a hash', `${TEMPLATES}#limit`],
  ['backslash', 'with a backslash', `${SEGMENT}\\templates`],
  ['secure-path', 'of the encrypted transport itself', '/api/v1/secure/bootstrap'],
  ['secure-in-capitals', 'with the segment SECURE', '/api/v1/SECURE/bootstrap'],
  ['dot-segment', 'with the segment .', `${SEGMENT}/./templates`],
  ['dot-dot-segment', 'with the segment ..', `${SEGMENT}/redemptions/../templates`],
  ['empty-segment', 'with an empty segment', `${SEGMENT}//templates`],
  ['percent-escape', 'with a percent escape', `${SEGMENT}/%74emplates`],
  ['path-of-513', 'of 513 characters', `${SEGMENT}/`.padEnd(513, 'x')],
]

const refusedHeaders: readonly (readonly [name: string, value: string])[] = [
  ['host', 'elsewhere.example'],
  ['cookie', 'a=b'],
  ['origin', 'https://elsewhere.example'],
  ['forwarded', 'for=192.0.2.1'],
  ['connection', 'close'],
  ['transfer-encoding', 'chunked'],
]

const passedHeaders = [
  'content-type',
  'retry-after',
  'x-request-id',
  'idempotent-replayed',
  'ratelimit',
  'ratelimit-policy',
]

/** A read with the application token, and other members. */
const read = (it: ProbeContext, changes: Members = {}) => anyCall(it, changes)

const headersOf = (it: ProbeContext) => ({
  accept: 'application/json',
  authorization: `Bearer ${it.resources.credential('token')}`,
})

/** Makes a read without a fault first, so that a refusal is due to the fault. */
async function needsRead(it: ProbeContext): Promise<Inner> {
  const inner = await inside(it, read(it))
  return isInnerSuccess(inner) ? inner : it.notApplicable(`Needs an inner success: ${said(inner)}.`)
}

/** The plaintext of a verification whose body has white space up to a number of bytes, or a long value. */
function verification(it: ProbeContext, { text = '', value = '' }): string {
  const headers = { ...headersOf(it), 'content-type': 'application/json' }
  const head = JSON.stringify({ method: 'POST', path: verify.path, query: {}, headers })
  return `${head.slice(0, -1)},"body":{${text}"credential":{"type":"redeem_code","value":"${value}"}}}`
}

export const innerRequests = [
  probe('query', 'Query values are taken from the query object.', async (it) => {
    await needsRead(it)
    const inner = await inside(it, read(it, { query: { limit: 7 } }))
    if (!isInnerSuccess(inner)) it.notApplicable(`Needs an inner success: ${said(inner)}.`)
    const { pagination } = membersOrNone(inner.body.data)
    it.equals('limit', membersOrNone(pagination).limit, 7)
  }),
  ...refusedPaths.map(([name, what, path]) =>
    probe(name, `A logical path ${what} is refused with the inner status 400.`, async (it) => {
      await needsRead(it)
      const inner = await inside(it, read(it, { path, query: {} }))
      const fits = inner.status === 400 && inner.body.code === 'SECURE_REQUEST_INVALID'
      it.holds(fits, 'inner status 400 SECURE_REQUEST_INVALID', said(inner))
    }),
  ),
  probe(
    'path-of-512',
    'A logical path of 512 characters is not refused for its length.',
    { needs: ['secure'] },
    async (it) => {
      const inner = await inside(it, anyCall(it, { path: `${SEGMENT}/`.padEnd(512, 'x'), query: {} }))
      it.holds(inner.body.code !== 'SECURE_REQUEST_INVALID', 'another response', said(inner))
    },
  ),
  ...refusedHeaders.map(([name, value]) =>
    probe(`header-${name}`, `A call with the inner header ${name} is refused.`, async (it) => {
      await needsRead(it)
      const inner = await inside(it, read(it, { headers: { ...headersOf(it), [name]: value } }))
      it.holds(!isInnerSuccess(inner), 'an inner refusal', said(inner))
    }),
  ),
  probe('other-header', 'An unknown inner header changes nothing.', async (it) => {
    await needsRead(it)
    const inner = await inside(it, read(it, { headers: { ...headersOf(it), 'x-conform': 'x' } }))
    it.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
  probe('authorization', 'The inner Authorization header is the credential of the call.', async (it) => {
    it.needs(await it.call(contract.templates.list, {}), 'a list of templates')
    const inner = await inside(it, read(it))
    it.holds(inner.status !== 401, 'an inner status other than 401', said(inner))
  }),
  probe('outer-header', 'An Authorization header of the outer request changes nothing.', async (it) => {
    await needsRead(it)
    const inner = await inside(it, read(it), { headers: { authorization: 'Bearer sop_none' } })
    it.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
  probe(
    'idempotency-key',
    'The inner Idempotency-Key header is the key of the call: a retry in a new envelope returns the same voucher.',
    { needs: ['secure', 'token', 'template'], vouchers: 1 },
    async (it) => {
      const body = await issueInput(it)
      const headers = { ...headersOf(it), 'content-type': 'application/json', 'idempotency-key': it.resources.name() }
      const send = () => inside(it, { method: 'POST', path: issue.path, query: {}, headers, body })
      const first = await send()
      if (!isInnerSuccess(first)) it.notApplicable(`Needs an issued voucher: ${said(first)}.`)
      const second = await send()
      const idOf = ({ body }: Inner) => membersOrNone(body.data).id
      it.holds(isInnerSuccess(second) && idOf(second) === idOf(first), 'the same voucher', said(second))
    },
  ),
  probe('content-type', 'A body without an inner content-type has the inner status 415.', async (it) => {
    await needsRead(it)
    const body = { credential: { type: 'redeem_code', value: '' } }
    const inner = await inside(it, { method: 'POST', path: verify.path, query: {}, headers: headersOf(it), body })
    it.equals('inner status', inner.status, 415)
  }),
  probe('white-space', 'A body of 64 KiB without its white space is not too large.', async (it) => {
    const inner = await inside(it, verification(it, { text: ' '.repeat(BODY_BYTES) }))
    it.holds(inner.status !== 413, 'a status other than 413', said(inner))
  }),
  probe('too-large', 'A body of more than 64 KiB without white space is too large.', async (it) => {
    const value = 'x'.repeat(BODY_BYTES)
    const { status } = await it.call(verify, { credential: { type: 'redeem_code', value } })
    if (status !== 413) it.notApplicable('Needs a platform that refuses such a body with 413.')
    const inner = await inside(it, verification(it, { value }))
    it.equals('inner status', inner.status, 413)
  }),
  probe(
    'response-headers',
    'Inner response headers are only those that the rule names.',
    { needs: ['secure'] },
    async (it) => {
      const { headers } = await inside(it, anyCall(it))
      const others = Object.keys(headers).filter((name) => !passedHeaders.includes(name))
      it.equals('other headers', others, [])
    },
  ),
]

export const innerResponses = [
  responses('success', 'The inner status of a success is 2xx.', async (it) => {
    const inner = await inside(it, read(it))
    if (inner.body.success !== true) it.notApplicable(`Needs an inner success: ${said(inner)}.`)
    it.holds(inner.status >= 200 && inner.status <= 299, 'an inner 2xx status', said(inner))
  }),
  responses(
    'refusal',
    'A refusal has another inner status, or success is false.',
    { needs: ['secure'] },
    async (it) => {
      const inner = await inside(it, anyCall(it, { headers: { authorization: 'Bearer sop_none' } }))
      it.holds(!isInnerSuccess(inner), 'an inner refusal', said(inner))
    },
  ),
]
