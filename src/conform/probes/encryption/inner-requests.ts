import { contract } from '../../../contract/index.js'
import type { Members } from '../../../values/json.js'
import { issueInput } from '../../fixtures.js'
import { type Define, probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { anyCall, type Inner, inside, isInnerSuccess, said, TEMPLATES } from './session.js'

const probe = probesOf('inner-requests', { needs: ['secure', 'token'] })
const secureProbe = probe.with({ needs: ['secure'] })
const responses = probesOf('inner-responses', { needs: ['secure', 'token'] })

const BODY_BYTES = 65_536
const { issue, verify } = contract.vouchers

const SEGMENT = '/api/v1/open-platform/vouchers'
type RefusedPath = readonly [name: string, what: string, path: string]

const specifiedPaths: readonly RefusedPath[] = [
  ['other-prefix', 'outside of /api/v1/', '/api/v2/open-platform/vouchers/templates'],
  ['query-in-path', 'with a query', `${TEMPLATES}?limit=1`],
  ['hash', 'with a hash', `${TEMPLATES}#limit`],
  ['backslash', 'with a backslash', `${SEGMENT}\\templates`],
  ['secure-path', 'of the encrypted transport itself', '/api/v1/secure/bootstrap'],
]

const otherPaths: readonly RefusedPath[] = [
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
  'date',
  'idempotent-replayed',
  'ratelimit',
  'ratelimit-policy',
]

/** A read with the application token and changed members. */
const read = (it: ProbeContext, changes: Members = {}) => anyCall(it, changes)

const headersOf = (run: ProbeContext) => ({
  accept: 'application/json',
  authorization: `Bearer ${run.resources.credential('token')}`,
})

/** Makes a valid read first, so that a later refusal is due to the fault. */
async function needsRead(run: ProbeContext): Promise<Inner> {
  const inner = await inside(run, read(run))
  return isInnerSuccess(inner) ? inner : run.notApplicable(`Needs an inner success: ${said(inner)}.`)
}

/** Plaintext of a verification whose body is padded with white space, or has a long value. */
function verification(run: ProbeContext, { text = '', value = '' }): string {
  const headers = { ...headersOf(run), 'content-type': 'application/json' }
  const head = JSON.stringify({ method: 'POST', path: verify.path, query: {}, headers })
  return `${head.slice(0, -1)},"body":{${text}"credential":{"type":"redeem_code","value":"${value}"}}}`
}

const isRefused =
  (define: Define, number: number) =>
  ([name, what, path]: RefusedPath) =>
    define(number, name, `A logical path ${what} is refused with the inner status 400.`, async (run) => {
      await needsRead(run)
      const inner = await inside(run, read(run, { path, query: {} }))
      const fits = inner.status === 400 && inner.body.code === 'SECURE_REQUEST_INVALID'
      run.holds(fits, 'inner status 400 SECURE_REQUEST_INVALID', said(inner))
    })

export const innerRequests = [
  probe.specified(1, 'query', 'Query values are taken from the query object.', async (run) => {
    await needsRead(run)
    const inner = await inside(run, read(run, { query: { limit: 7 } }))
    if (!isInnerSuccess(inner)) run.notApplicable(`Needs an inner success: ${said(inner)}.`)
    const { pagination } = membersOrNone(inner.body.data)
    run.equals('limit', membersOrNone(pagination).limit, 7)
  }),
  ...specifiedPaths.map(isRefused(probe.partly, 1)),
  ...otherPaths.map(isRefused(probe, 2)),
  secureProbe(2, 'path-of-512', 'A logical path of 512 characters is not refused for its length.', async (run) => {
    const inner = await inside(run, anyCall(run, { path: `${SEGMENT}/`.padEnd(512, 'x'), query: {} }))
    run.holds(inner.body.code !== 'SECURE_REQUEST_INVALID', 'another response', said(inner))
  }),
  ...refusedHeaders.map(([name, value]) =>
    probe(3, `header-${name}`, `A call with the inner header ${name} is refused.`, async (run) => {
      await needsRead(run)
      const inner = await inside(run, read(run, { headers: { ...headersOf(run), [name]: value } }))
      run.holds(!isInnerSuccess(inner), 'an inner refusal', said(inner))
    }),
  ),
  probe(3, 'other-header', 'An unknown inner header changes nothing.', async (run) => {
    await needsRead(run)
    const inner = await inside(run, read(run, { headers: { ...headersOf(run), 'x-conform': 'x' } }))
    run.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
  probe.specified(1, 'authorization', 'The inner Authorization header is the credential of the call.', async (run) => {
    run.needs(await run.call(contract.templates.list, {}), 'a list of templates')
    const inner = await inside(run, read(run))
    run.holds(inner.status !== 401, 'an inner status other than 401', said(inner))
  }),
  probe(1, 'outer-header', 'An Authorization header of the outer request changes nothing.', async (run) => {
    await needsRead(run)
    const inner = await inside(run, read(run), { headers: { authorization: 'Bearer sop_none' } })
    run.holds(isInnerSuccess(inner), 'an inner success', said(inner))
  }),
  probe
    .with({ needs: ['secure', 'token', 'template'], vouchers: 1 })
    .specified(
      1,
      'idempotency-key',
      'The inner Idempotency-Key header is the key of the call: a retry in a new envelope returns the same voucher.',
      async (run) => {
        const body = await issueInput(run)
        const headers = {
          ...headersOf(run),
          'content-type': 'application/json',
          'idempotency-key': run.resources.name(),
        }
        const send = () => inside(run, { method: 'POST', path: issue.path, query: {}, headers, body })
        const first = await send()
        if (!isInnerSuccess(first)) run.notApplicable(`Needs an issued voucher: ${said(first)}.`)
        const second = await send()
        const idOf = ({ body }: Inner) => membersOrNone(body.data).id
        run.holds(isInnerSuccess(second) && idOf(second) === idOf(first), 'the same voucher', said(second))
      },
    ),
  probe(4, 'content-type', 'A body without an inner content-type has the inner status 415.', async (run) => {
    await needsRead(run)
    const body = { credential: { type: 'redeem_code', value: '' } }
    const inner = await inside(run, { method: 'POST', path: verify.path, query: {}, headers: headersOf(run), body })
    run.equals('inner status', inner.status, 415)
  }),
  probe(4, 'white-space', 'A body of 64 KiB without its white space is not too large.', async (run) => {
    const inner = await inside(run, verification(run, { text: ' '.repeat(BODY_BYTES) }))
    run.holds(inner.status !== 413, 'a status other than 413', said(inner))
  }),
  probe(4, 'too-large', 'A body of more than 64 KiB without white space is too large.', async (run) => {
    const value = 'x'.repeat(BODY_BYTES)
    run.needsRefusal(await run.call(verify, { credential: { type: 'redeem_code', value } }), 413)
    const inner = await inside(run, verification(run, { value }))
    run.equals('inner status', inner.status, 413)
  }),
  secureProbe(4, 'response-headers', 'Inner response headers are only those that the rule names.', async (run) => {
    const { headers } = await inside(run, anyCall(run))
    const others = Object.keys(headers).filter((name) => !passedHeaders.includes(name))
    run.equals('other headers', others, [])
  }),
]

export const innerResponses = [
  responses.specified(1, 'success', 'The inner status of a success is 2xx.', async (run) => {
    const inner = await inside(run, read(run))
    if (inner.body.success !== true) run.notApplicable(`Needs an inner success: ${said(inner)}.`)
    run.holds(inner.status >= 200 && inner.status <= 299, 'an inner 2xx status', said(inner))
  }),
  responses
    .with({ needs: ['secure'] })
    .specified(1, 'refusal', 'A refusal has another inner status, or success is false.', async (run) => {
      const inner = await inside(run, anyCall(run, { headers: { authorization: 'Bearer sop_none' } }))
      run.holds(!isInnerSuccess(inner), 'an inner refusal', said(inner))
    }),
]
