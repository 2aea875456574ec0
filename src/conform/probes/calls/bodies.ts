import { contract } from '../../../contract/index.js'
import { credentialOf, tryIssue, voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import {
  anonymousRead,
  jsonType,
  needsStatus,
  UNKNOWN_REDEMPTION,
  unredeemed,
  verifyJson,
  verifyWith,
} from './shared.js'

const probe = probesOf('bodies', { needs: ['token', 'template'] })
const { templates, vouchers } = contract

const BYTES_MAX = 65_536

/** Media types and codings that the platform refuses, by the names of their probes. */
const refusedTypes = [
  ['media-type', 'the media type text/plain', { 'content-type': 'text/plain' }],
  ['charset', 'the charset iso-8859-1', { 'content-type': 'application/json; charset=iso-8859-1' }],
  ['content-encoding', 'a content encoding', { ...jsonType, 'content-encoding': 'gzip' }],
] as const

const malformed = [
  ['not-json', 'not JSON', '{'],
  ['list', 'a list', '[]'],
  ['text', 'a JSON string', '"conform"'],
] as const

/** Adds a member named __proto__ to JSON. */
const withProto = (json: string, where: string) => json.replace(where, `${where}"__proto__":{"a":"b"},`)

/** Reverses a new redemption. */
async function reverse(it: ProbeContext, headers: Readonly<Record<string, string>>, body?: string) {
  const credential = credentialOf(it, await voucher(it))
  const { id } = it.needs(await it.call(vouchers.redeem, { credential }), 'a redemption')
  const path = vouchers.reverse.path.replace(':redemptionId', id)
  const all = { 'idempotency-key': it.resources.name(), ...headers }
  return it.send({ method: 'POST', path, as: 'token', headers: all, ...(body === undefined ? {} : { body }) })
}

/** Observes that a reversal needs no body, on a platform that reverses with one. */
async function reversesWithout(it: ProbeContext, headers: Readonly<Record<string, string>>): Promise<void> {
  needsStatus(it, await it.resources.once('calls reversal', () => reverse(it, jsonType, '{}')), '2xx')
  it.succeeds(await reverse(it, headers))
}

export const bodies = [
  ...malformed.map(([name, what, body]) =>
    probe(name, `A body that is ${what} is refused with 400.`, { needs: ['token'], plain: true }, async (it) =>
      it.refuses(await verifyWith(it, body), 400),
    ),
  ),
  probe('not-utf-8', 'A body that is not UTF-8 is refused with 400.', { plain: true }, async (it) => {
    const json = await verifyJson(it, { recipient_user_id: '\xe9' })
    const authorization = `Bearer ${it.resources.credential('token')}`
    const headers = { ...jsonType, authorization, 'content-length': String(json.length), connection: 'close' }
    const { text } = await it.wire.raw(
      it.wire.bytesOf({ method: 'POST', path: vouchers.verify.path, headers, body: json }),
    )
    it.holds(/^HTTP\/1\.\d 400 /.test(text), 'status 400', text)
  }),
  probe('at-most-64-kib', 'A body of 65,536 bytes is accepted.', { plain: true }, async (it) =>
    it.succeeds(await verifyWith(it, (await verifyJson(it)).padEnd(BYTES_MAX))),
  ),
  probe('more-than-64-kib', 'A body of more than 65,536 bytes is refused with 413.', async (it) => {
    const longer = await verifyJson(it, { recipient_user_id: 'a'.repeat(BYTES_MAX) })
    it.refuses(await verifyWith(it, longer), 413)
  }),
  ...refusedTypes.map(([name, what, headers]) =>
    probe(name, `A body with ${what} is refused with 415.`, { plain: true }, async (it) =>
      it.refuses(await verifyWith(it, await verifyJson(it), headers), 415),
    ),
  ),
  ...[
    ['empty-body', 'an empty body without Content-Type', {}],
    ['empty-json', 'an empty body with Content-Type', jsonType],
  ].map(([name, what, headers]) =>
    probe(
      name as string,
      `A call without required members accepts ${what}.`,
      { needs: ['token', 'template'], vouchers: 1 },
      async (it) => reversesWithout(it, headers as Record<string, string>),
    ),
  ),
  probe('type-of-a-get', 'A GET ignores Content-Type.', { needs: ['token'], reads: true }, async (it) => {
    it.needs(await it.call(templates.list, {}), 'a list')
    it.succeeds(await it.call(templates.list, {}, { headers: { 'content-type': 'text/plain' } }))
  }),
  probe('proto', 'A member named __proto__ is refused with 400.', async (it) =>
    it.refuses(await verifyWith(it, withProto(await verifyJson(it), '{')), 400),
  ),
  probe('proto-inside', 'A member named __proto__ inside metadata is refused with 400.', async (it) => {
    const metadata = JSON.parse('{"__proto__":"conform"}')
    it.refuses(await tryIssue(it, { metadata }), 400)
  }),
  probe('name-twice', 'If a name occurs twice in a body, the last one counts.', async (it) => {
    const { recipientUserId } = await unredeemed(it)
    const [own, other] = [JSON.stringify(recipientUserId), '"conform-other"']
    const json = await verifyJson(it)
    const reasonFor = async (...recipients: string[]) => {
      const members = recipients.map((recipient) => `"recipient_user_id":${recipient},`)
      const response = await verifyWith(it, json.replace('{', `{${members.join('')}`))
      return { response, reason: (response.data as { reason?: unknown } | undefined)?.reason }
    }
    const [first, last] = [await reasonFor(other), await reasonFor(own)]
    needsStatus(it, first.response, '2xx')
    needsStatus(it, last.response, '2xx')
    if (first.reason === last.reason) it.notApplicable('Needs a platform that compares the recipient.')
    const { response, reason } = await reasonFor(other, own)
    it.succeeds(response)
    it.equals('reason', reason, last.reason)
  }),
  probe(
    'no-store',
    'Every response has Cache-Control: no-store: a success, a refusal and one for an unknown path.',
    { needs: ['token'], reads: true, plain: true },
    async (it) => {
      const unknownPath = { method: 'GET', path: '/api/v1/open-platform/conform', headers: {} }
      const responses = [await it.call(templates.list, {}), await anonymousRead(it), await it.send(unknownPath)]
      it.equals(
        'Cache-Control',
        responses.map(({ headers }) => headers['cache-control']),
        Array(3).fill('no-store'),
      )
    },
  ),
  probe(
    'malformed-escape',
    'A malformed percent escape in a path is text: an id with it is refused as an unknown one.',
    { needs: ['token'], reads: true, plain: true },
    async (it) => {
      const read = (id: string) =>
        it.send({
          method: 'GET',
          path: vouchers.redemption.path.replace(':redemptionId', id),
          as: 'token',
          headers: {},
        })
      needsStatus(it, await read(UNKNOWN_REDEMPTION), 404)
      it.refuses(await read('conform%zz'), 404)
    },
  ),
]
