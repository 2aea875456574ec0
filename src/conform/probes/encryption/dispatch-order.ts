import type { Envelope, EnvelopeHead } from '../../../secure/envelope.js'
import { MAX_ENVELOPE_BYTES, paths } from '../../../secure/suite.js'
import { decodeBase64url, encodeBase64url } from '../../../values/base64url.js'
import type { Members } from '../../../values/json.js'
import { type Define, type Probe, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { padded, replay } from './envelopes.js'
import { anyCall, dispatch, innerOf, type Session, said, sealed, session } from './session.js'

const probe = probesOf('dispatch-order', { needs: ['secure'] })

const OTHER_ORIGIN = { origin: 'https://elsewhere.example' }
const UNKNOWN_SID = 'ss_AAAAAAAAAAAAAAAAAAAAAA'
const UNKNOWN_KID = 'AAAAAAAAAAAAAAAA'

function withOtherTag(envelope: Envelope): Envelope {
  const bytes = Buffer.from(decodeBase64url(envelope.ciphertext) ?? [])
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  return { ...envelope, ciphertext: encodeBase64url(bytes) }
}

const withShortIv = (envelope: Envelope): Envelope => ({ ...envelope, iv: encodeBase64url(Buffer.alloc(11)) })

type Send = (it: ProbeContext, through: Session) => Promise<Observed>
/** Expected status, and the code unless only the rule `failure-codes` tests it. */
type Code = readonly [status: number, code?: string]

const MEDIA: Code = [415]
const SIZE: Code = [413, 'SECURE_ENVELOPE_TOO_LARGE']
const FORM: Code = [400, 'SECURE_ENVELOPE_INVALID']
const VERSION: Code = [400, 'SECURE_VERSION_UNSUPPORTED']
const TIME: Code = [400, 'REQUEST_TIMESTAMP_OUT_OF_RANGE']
const SESSION: Code = [409, 'SECURE_SESSION_EXPIRED']
const KID: Code = [409, 'SECURE_SESSION_MISMATCH']
const ORIGIN: Code = [403, 'SECURE_SESSION_ORIGIN_MISMATCH']
const TAG: Code = [400, 'DECRYPTION_FAILED']

/** Returns a `ts` that differs by some ms from the server's clock. */
const tsOf = ({ offsetMs }: Session, ms: number) => ({ ts: Date.now() + offsetMs + ms })

/** Makes faulty envelope fields that the tag covers. */
type Head = (through: Session) => Partial<EnvelopeHead>

const faulty =
  (head: Head, change: (envelope: Envelope) => Members | Envelope | string = (it) => it, headers = {}): Send =>
  (run, through) =>
    dispatch(run, through, change(sealed(through, anyCall(run), head(through))), { headers })

const none: Head = () => ({})
const stale: Head = (through) => tsOf(through, -65_000)
const unknownSession: Head = () => ({ sid: UNKNOWN_SID })
const otherKid: Head = () => ({ kid: UNKNOWN_KID })
const brokenJson = () => '{'
const otherVersion = (envelope: Envelope) => ({ ...envelope, v: 2 })
const plainJson = { 'content-type': 'application/json' }

const single = {
  media: faulty(none, (it) => it, plainJson),
  size: faulty(none, (it) => padded(it, MAX_ENVELOPE_BYTES + 1)),
  version: faulty(none, otherVersion),
  form: faulty(none, withShortIv),
  time: faulty(stale),
  session: faulty(unknownSession),
  kid: faulty(otherKid),
  origin: faulty(none, (it) => it, OTHER_ORIGIN),
  tag: faulty(none, withOtherTag),
}

/** Defines a probe for a refusal with a code. */
const refusedAs =
  (define: Define, number: number) =>
  (name: string, title: string, [status, code]: Code, send: Send) =>
    define(number, name, title, async (run) => run.refuses(await send(run, await session(run)), status, code))
const refused = refusedAs(probe, 3)
const partlyMalformed = refusedAs(probe.partly, 3)
const partlyRefused = refusedAs(probe.partly, 2)

/** Defines a probe that the first of two faults is reported. @param first sends the first fault alone */
const before = (name: string, title: string, [status, code]: Code, first: Send, both: Send) =>
  probe(3, name, title, async (run) => {
    const through = await session(run)
    const alone = await first(run, through)
    run.needsRefusal(alone, status)
    if ((code ?? alone.code) !== alone.code) run.notApplicable(`Needs a platform that refuses with ${code}.`)
    run.refuses(await both(run, through), status, code)
  })

const refusals = [
  partlyMalformed('media-type', 'Another media type is 415.', MEDIA, single.media),
  refused('size', 'An envelope that is too large is 413.', SIZE, single.size),
  refused('json', 'A body that is not JSON is 400.', FORM, faulty(none, brokenJson)),
  refused('query', 'A query in the outer request is 400.', [400, 'VALIDATION_FAILED'], (run, through) =>
    dispatch(run, through, sealed(through, anyCall(run)), { query: '?limit=1' }),
  ),
  refused('version', 'An envelope of version 2 is 400.', VERSION, single.version),
  partlyMalformed(
    'missing-member',
    'A missing member is 400.',
    FORM,
    faulty(none, ({ iv: _, ...rest }) => rest),
  ),
  refused('malformed-member', 'A malformed member is 400.', FORM, single.form),
  refused(
    'unknown-member',
    'An unknown member is 400.',
    FORM,
    faulty(none, (it) => ({ ...it, path: '/api/v1/' })),
  ),
  partlyRefused('stale', 'A ts 65 s in the past is 400.', TIME, single.time),
  partlyRefused(
    'ahead',
    'A ts 65 s in the future is 400.',
    TIME,
    faulty((through) => tsOf(through, 65_000)),
  ),
  partlyRefused('unknown-session', 'An unknown session is 409.', SESSION, single.session),
  refusedAs(probe, 2)('kid', 'A kid that differs from the session is 409.', KID, single.kid),
  partlyRefused('origin', 'An origin that differs from the session is 403.', ORIGIN, single.origin),
  partlyRefused('tag', 'A changed tag is 400.', TAG, single.tag),
  partlyRefused('additional-data', 'A rid that was changed on its way is 400.', TAG, (run, through) => {
    const { rid } = sealed(through, '{}')
    return dispatch(run, through, { ...sealed(through, anyCall(run)), rid })
  }),
  partlyRefused('replay', 'A replayed envelope is 409.', [409, 'REQUEST_REPLAYED'], replay),
  before(
    'type-before-json',
    'The media type is checked before the JSON.',
    MEDIA,
    single.media,
    faulty(none, brokenJson, plainJson),
  ),
  before('size-before-json', 'The size is checked before the JSON.', SIZE, single.size, (run, through) =>
    dispatch(run, through, '{'.padEnd(MAX_ENVELOPE_BYTES + 1, ' ')),
  ),
  before(
    'version-before-form',
    'The version is checked before the other members.',
    VERSION,
    single.version,
    faulty(none, (it) => otherVersion(withShortIv(it))),
  ),
  before('form-before-time', 'The members are checked before ts.', FORM, single.form, faulty(stale, withShortIv)),
  before(
    'time-before-session',
    'ts is checked before the session.',
    TIME,
    single.time,
    faulty((through) => ({ ...stale(through), sid: UNKNOWN_SID })),
  ),
  before(
    'session-before-kid',
    'The session is checked before its kid.',
    SESSION,
    single.session,
    faulty(() => ({ kid: UNKNOWN_KID, sid: UNKNOWN_SID })),
  ),
  before(
    'kid-before-origin',
    'The kid is checked before the origin.',
    KID,
    single.kid,
    faulty(otherKid, (it) => it, OTHER_ORIGIN),
  ),
  before(
    'origin-before-tag',
    'The origin is checked before the tag.',
    ORIGIN,
    single.origin,
    faulty(none, withOtherTag, OTHER_ORIGIN),
  ),
  before('tag-before-replay', 'The tag is checked before a replay.', TAG, single.tag, async (run, through) => {
    const envelope = sealed(through, anyCall(run))
    if ((await dispatch(run, through, envelope)).status >= 400) run.notApplicable('Needs an accepted call.')
    return dispatch(run, through, withOtherTag(envelope))
  }),
]

export const dispatchOrder: readonly Probe[] = [
  probe.with({ reads: true })(3, 'method', 'A GET of the dispatch path is 405.', async (run) =>
    run.refuses(await run.send({ method: 'GET', path: paths.dispatch, headers: {}, plain: true }), 405),
  ),
  ...refusals,
  ...[-50_000, 50_000].map((ms) =>
    probe.specified(
      2,
      ms < 0 ? 'ts-50-s-ago' : 'ts-in-50-s',
      `A ts ${Math.abs(ms / 1000)} s ${ms < 0 ? 'in the past' : 'in the future'} is accepted.`,
      async (run) => {
        const through = await session(run)
        run.succeeds(await dispatch(run, through, sealed(through, anyCall(run), tsOf(through, ms))))
      },
    ),
  ),
  probe.specified(1, 'encrypted-refusal', 'A refusal of the call is encrypted, with outer status 200.', async (run) => {
    const through = await session(run)
    const envelope = sealed(through, anyCall(run, { headers: { accept: 'application/json' } }))
    const outer = await dispatch(run, through, envelope)
    const inner = innerOf(outer, envelope, through)
    const what = inner === undefined ? 'in plain text' : said(inner)
    const isInside = outer.status === 200 && inner !== undefined
    run.holds(isInside, 'outer status 200, encrypted', `outer status ${outer.status}, ${what}`)
  }),
  probe(4, 'mark-after-tag', 'An envelope whose tag does not match does not use up its rid.', async (run) => {
    const through = await session(run)
    const envelope = sealed(through, anyCall(run))
    run.needsRefusal(await dispatch(run, through, withOtherTag(envelope)))
    run.succeeds(await dispatch(run, through, envelope))
  }),
]
