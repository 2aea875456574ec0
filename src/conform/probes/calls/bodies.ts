import { contract } from '../../../contract/index.js'
import { credentialOf, tryIssue, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import {
  anonymousRead,
  jsonType,
  needsSuccess,
  UNKNOWN_REDEMPTION,
  unredeemed,
  verifyJson,
  verifyWith,
} from './shared.js'

const probe = probesOf('bodies', { needs: ['token', 'template'] })
const plainProbe = probe.with({ plain: true })
const plainToken = probe.with({ needs: ['token'], plain: true })
const plainRead = probe.with({ needs: ['token'], reads: true, plain: true })
const { templates, vouchers } = contract

const BYTES_MAX = 65_536

/** Media types and content codings that the platform refuses, by probe name. */
const refusedTypes = [
  ['media-type', 'the media type text/plain', { 'content-type': 'text/plain' }],
  ['charset', 'the charset iso-8859-1', { 'content-type': 'application/json; charset=iso-8859-1' }],
  ['content-encoding', 'a content encoding', { ...jsonType, 'content-encoding': 'gzip' }],
] as const

const malformed = [
  [1, 'not-json', 'not JSON', '{'],
  [2, 'list', 'a list', '[]'],
  [2, 'text', 'a JSON string', '"conform"'],
] as const

const withProto = (json: string, where: string) => json.replace(where, `${where}"__proto__":{"a":"b"},`)

async function reverse(run: ProbeContext, headers: Readonly<Record<string, string>>, body?: string) {
  const credential = credentialOf(run, await voucher(run))
  const { id } = run.needs(await run.call(vouchers.redeem, { credential }), 'a redemption')
  const path = vouchers.reverse.path.replace(':redemptionId', id)
  const all = { 'idempotency-key': run.resources.name(), ...headers }
  return run.send({ method: 'POST', path, as: 'token', headers: all, ...(body === undefined ? {} : { body }) })
}

/** Tests that a reversal needs no body; the platform must accept one with a body. */
async function reversesWithout(run: ProbeContext, headers: Readonly<Record<string, string>>): Promise<void> {
  needsSuccess(run, await run.resources.once('calls reversal', () => reverse(run, jsonType, '{}')))
  run.succeeds(await reverse(run, headers))
}

export const bodies = [
  ...malformed.map(([number, name, what, body]) =>
    plainToken(number, name, `A body that is ${what} is refused with 400.`, async (run) =>
      run.refuses(await verifyWith(run, body), 400),
    ),
  ),
  plainProbe(2, 'not-utf-8', 'A body that is not UTF-8 is refused with 400.', async (run) => {
    const json = await verifyJson(run, { recipient_user_id: '\xe9' })
    const authorization = `Bearer ${run.resources.credential('token')}`
    const headers = { ...jsonType, authorization, 'content-length': String(json.length), connection: 'close' }
    const { text } = await run.wire.raw(
      run.wire.bytesOf({ method: 'POST', path: vouchers.verify.path, headers, body: json }),
    )
    run.holds(/^HTTP\/1\.\d 400 /.test(text), 'status 400', text)
  }),
  plainProbe(2, 'at-most-64-kib', 'A body of 65,536 bytes is accepted.', async (run) =>
    run.succeeds(await verifyWith(run, (await verifyJson(run)).padEnd(BYTES_MAX))),
  ),
  probe(2, 'more-than-64-kib', 'A body of more than 65,536 bytes is refused with 413.', async (run) => {
    const longer = await verifyJson(run, { recipient_user_id: 'a'.repeat(BYTES_MAX) })
    run.refuses(await verifyWith(run, longer), 413)
  }),
  ...refusedTypes.map(([name, what, headers]) =>
    plainProbe(2, name, `A body with ${what} is refused with 415.`, async (run) =>
      run.refuses(await verifyWith(run, await verifyJson(run), headers), 415),
    ),
  ),
  ...[
    ['empty-body', 'an empty body without Content-Type', {}],
    ['empty-json', 'an empty body with Content-Type', jsonType],
  ].map(([name, what, headers]) =>
    probe.with({ needs: ['token', 'template'], vouchers: 1 })(
      3,
      name as string,
      `A call without required members accepts ${what}.`,
      async (it) => reversesWithout(it, headers as Record<string, string>),
    ),
  ),
  probe.with({ needs: ['token'], reads: true })(3, 'type-of-a-get', 'A GET ignores Content-Type.', async (run) => {
    run.needs(await run.call(templates.list, {}), 'a list')
    run.succeeds(await run.call(templates.list, {}, { headers: { 'content-type': 'text/plain' } }))
  }),
  probe(4, 'proto', 'A member named __proto__ is refused with 400.', async (run) =>
    run.refuses(await verifyWith(run, withProto(await verifyJson(run), '{')), 400),
  ),
  probe(4, 'proto-inside', 'A member named __proto__ inside metadata is refused with 400.', async (run) => {
    const metadata = JSON.parse('{"__proto__":"conform"}')
    run.refuses(await tryIssue(run, { metadata }), 400)
  }),
  probe(4, 'name-twice', 'If a name occurs twice in a body, the last one counts.', async (run) => {
    const { recipientUserId } = await unredeemed(run)
    const [own, other] = [JSON.stringify(recipientUserId), '"conform-other"']
    const json = await verifyJson(run)
    const reasonFor = async (...recipients: string[]) => {
      const members = recipients.map((recipient) => `"recipient_user_id":${recipient},`)
      const response = await verifyWith(run, json.replace('{', `{${members.join('')}`))
      return { response, reason: (response.data as { reason?: unknown } | undefined)?.reason }
    }
    const [first, last] = [await reasonFor(other), await reasonFor(own)]
    needsSuccess(run, first.response)
    needsSuccess(run, last.response)
    if (first.reason === last.reason) run.notApplicable('Needs a platform that compares the recipient.')
    const { response, reason } = await reasonFor(other, own)
    run.succeeds(response)
    run.equals('reason', reason, last.reason)
  }),
  plainRead(5, 'no-store', 'Every success, refusal and unknown path has Cache-Control: no-store.', async (run) => {
    const unknownPath = { method: 'GET', path: '/api/v1/open-platform/conform', headers: {} }
    const responses = [await run.call(templates.list, {}), await anonymousRead(run), await run.send(unknownPath)]
    const values = responses.map(({ headers }) => headers['cache-control'])
    run.equals('Cache-Control', values, Array(3).fill('no-store'))
  }),
  plainRead(5, 'malformed-escape', 'An id with a malformed percent escape is refused as unknown.', async (run) => {
    const pathOf = (id: string) => vouchers.redemption.path.replace(':redemptionId', id)
    const read = (id: string) => run.send({ method: 'GET', path: pathOf(id), as: 'token', headers: {} })
    run.needsRefusal(await read(UNKNOWN_REDEMPTION), 404)
    run.refuses(await read('conform%zz'), 404)
  }),
]
