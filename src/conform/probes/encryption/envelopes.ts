import { isMediaType, MAX_ENVELOPE_BYTES, MEDIA_TYPE } from '../../../secure/suite.js'
import { decodeBase64url } from '../../../values/base64url.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { anyCall, dispatch, sealed, session } from './session.js'

const probe = probesOf('envelopes', {
  needs: ['secure'],
  specified: ['all-required', 'media-type', 'new-iv', 'replay', 'rid-once'],
})
const marks = probesOf('replay-marks', { needs: ['secure'], specified: ['after-other-calls'] })

/** Says that an outer request is refused; which code it gets is a statement of the dispatch order. */
const isRefused = (it: ProbeContext, what: string, { status }: Observed) =>
  it.holds(status >= 400 && status <= 499, `a refusal of ${what}`, `status ${status}`)

const isAccepted = (it: ProbeContext, what: string, { status, code }: Observed) =>
  it.holds(status < 400, `${what} accepted`, `status ${status} ${code ?? ''}`)

/** An envelope as text, with white space up to a number of bytes. */
export const padded = (envelope: object, bytes: number) => JSON.stringify(envelope).padEnd(bytes, ' ')

const ridOf = (length: number) => 'r'.repeat(length - 1)

/** A response to a call in the shared session, and its envelope. */
async function exchange(it: ProbeContext) {
  const through = await session(it)
  const sent = sealed(through, anyCall(it))
  const response = await dispatch(it, through, sent)
  if (response.status >= 400) it.notApplicable(`Needs an accepted call: ${response.status} ${response.code ?? ''}.`)
  return { sent, response }
}

export const envelopes = [
  probe('all-required', 'An envelope without one of its eight members is refused.', async (it) => {
    const through = await session(it)
    for (const name of ['v', 'suite', 'kid', 'sid', 'rid', 'ts', 'iv', 'ciphertext'] as const) {
      const { [name]: _, ...rest } = sealed(through, anyCall(it))
      isRefused(it, `an envelope without ${name}`, await dispatch(it, through, rest))
    }
  }),
  probe('media-type', `An envelope of the media type application/json is refused.`, async (it) => {
    const through = await session(it)
    const headers = { 'content-type': 'application/json' }
    isRefused(it, 'this type', await dispatch(it, through, sealed(through, anyCall(it)), { headers }))
  }),
  probe('media-type-of-response', `An encrypted response has the media type ${MEDIA_TYPE}.`, async (it) => {
    const { response } = await exchange(it)
    it.holds(isMediaType(response.headers['content-type']), MEDIA_TYPE, response.headers['content-type'])
  }),
  probe('repeated-fields', 'A response repeats v, suite, kid, sid, rid and ts.', async (it) => {
    const { sent, response } = await exchange(it)
    const fields = ({ v, suite, kid, sid, rid, ts }: Readonly<Record<string, unknown>>) => ({
      v,
      suite,
      kid,
      sid,
      rid,
      ts,
    })
    it.equals('fields', fields(membersOrNone(response.json)), fields({ ...sent }))
  }),
  probe('new-iv', 'A response has an IV of its own, of 96 bits.', async (it) => {
    const { sent, response } = await exchange(it)
    const { iv } = membersOrNone(response.json)
    it.holds(iv !== sent.iv && decodeBase64url(String(iv))?.length === 12, 'a new IV of 12 bytes', iv)
  }),
  probe('replay', 'An envelope that was processed is refused.', async (it) => {
    const through = await session(it)
    isRefused(it, 'a replay', await replay(it, through))
  }),
  probe('rid-once', 'Another envelope with a rid that was used is refused.', async (it) => {
    const through = await session(it)
    const { rid } = (await exchange(it)).sent
    isRefused(it, 'a used rid', await dispatch(it, through, sealed(through, anyCall(it), { rid })))
  }),
  ...[16, 64].map((length) =>
    probe(`rid-of-${length}`, `A rid of ${length} characters is accepted.`, async (it) => {
      const through = await session(it)
      isAccepted(
        it,
        'such a rid',
        await dispatch(it, through, sealed(through, anyCall(it), { rid: `-${ridOf(length)}` })),
      )
    }),
  ),
  ...[15, 65].map((length) =>
    probe(`rid-of-${length}`, `A rid of ${length} characters is refused.`, async (it) => {
      const through = await session(it)
      const envelope = sealed(through, anyCall(it), { rid: `_${ridOf(length)}` })
      isRefused(it, 'such a rid', await dispatch(it, through, envelope))
    }),
  ),
  probe('rid-with-a-dot', 'A rid with a character other than A-Za-z0-9_- is refused.', async (it) => {
    const through = await session(it)
    isRefused(it, 'a dot', await dispatch(it, through, sealed(through, anyCall(it), { rid: `.${ridOf(20)}` })))
  }),
  probe('largest', 'An envelope of 262,144 bytes is accepted.', async (it) => {
    const through = await session(it)
    const text = padded(sealed(through, anyCall(it)), MAX_ENVELOPE_BYTES)
    isAccepted(it, 'such an envelope', await dispatch(it, through, text))
  }),
  probe('too-large', 'An envelope of 262,145 bytes is refused.', async (it) => {
    const through = await session(it)
    const text = padded(sealed(through, anyCall(it)), MAX_ENVELOPE_BYTES + 1)
    isRefused(it, 'such an envelope', await dispatch(it, through, text))
  }),
]

/** Sends an envelope twice and returns the second response. */
export async function replay(it: ProbeContext, through: Awaited<ReturnType<typeof session>>): Promise<Observed> {
  const envelope = sealed(through, anyCall(it))
  const first = await dispatch(it, through, envelope)
  if (first.status >= 400) it.notApplicable(`Needs an accepted call: ${first.status} ${first.code ?? ''}.`)
  return dispatch(it, through, envelope)
}

/** Calls between an envelope and its replay: a window or a small cache of marks has lost it by then. */
const CALLS_BETWEEN = 40

export const replayMarks = [
  marks(
    'after-other-calls',
    `An envelope is refused after ${CALLS_BETWEEN} other calls of its session too.`,
    async (it) => {
      const through = await session(it)
      if ((await replay(it, through)).status < 400) it.notApplicable('Needs a platform that refuses a replay.')
      const old = sealed(through, anyCall(it))
      for (let call = 0; call <= CALLS_BETWEEN; call += 1) {
        const { status } = await dispatch(it, through, call === 0 ? old : sealed(through, anyCall(it)))
        if (status >= 400) it.notApplicable(`Needs accepted calls: ${status}.`)
      }
      const { status } = await dispatch(it, through, old)
      it.holds(status >= 400 && status <= 499, 'a refusal of the replay', `status ${status}`)
    },
  ),
]
