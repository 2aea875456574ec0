import { isMediaType, MAX_ENVELOPE_BYTES, MEDIA_TYPE } from '../../../secure/suite.js'
import { decodeBase64url } from '../../../values/base64url.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { anyCall, dispatch, sealed, session } from './session.js'

const probe = probesOf('envelopes', { needs: ['secure'] })
const marks = probesOf('replay-marks', { needs: ['secure'] })

/** Tests that an outer request is refused; the probes of the dispatch order test the code. */
const isRefused = (run: ProbeContext, what: string, { status }: Observed) =>
  run.holds(status >= 400 && status <= 499, `a refusal of ${what}`, `status ${status}`)

const isAccepted = (run: ProbeContext, what: string, { status, code }: Observed) =>
  run.holds(status < 400, `${what} accepted`, `status ${status} ${code ?? ''}`)

/** Formats an envelope as JSON, padded with white space to a number of bytes. */
export const padded = (envelope: object, bytes: number) => JSON.stringify(envelope).padEnd(bytes, ' ')

const ridOf = (length: number) => 'r'.repeat(length - 1)

/** Makes a call in the shared session; returns the response and the envelope. */
async function exchange(run: ProbeContext) {
  const through = await session(run)
  const sent = sealed(through, anyCall(run))
  const response = await dispatch(run, through, sent)
  if (response.status >= 400) run.notApplicable(`Needs an accepted call: ${response.status} ${response.code ?? ''}.`)
  return { sent, response }
}

export const envelopes = [
  probe.specified(1, 'all-required', 'An envelope without one of its eight members is refused.', async (run) => {
    const through = await session(run)
    for (const name of ['v', 'suite', 'kid', 'sid', 'rid', 'ts', 'iv', 'ciphertext'] as const) {
      const { [name]: _, ...rest } = sealed(through, anyCall(run))
      isRefused(run, `an envelope without ${name}`, await dispatch(run, through, rest))
    }
  }),
  probe.specified(1, 'media-type', `An envelope of the media type application/json is refused.`, async (run) => {
    const through = await session(run)
    const headers = { 'content-type': 'application/json' }
    isRefused(run, 'this type', await dispatch(run, through, sealed(through, anyCall(run)), { headers }))
  }),
  probe(1, 'media-type-of-response', `An encrypted response has the media type ${MEDIA_TYPE}.`, async (run) => {
    const { response } = await exchange(run)
    run.holds(isMediaType(response.headers['content-type']), MEDIA_TYPE, response.headers['content-type'])
  }),
  probe(2, 'repeated-fields', 'A response repeats v, suite, kid, sid, rid and ts.', async (run) => {
    const { sent, response } = await exchange(run)
    const fields = ({ v, suite, kid, sid, rid, ts }: Readonly<Record<string, unknown>>) => ({
      v,
      suite,
      kid,
      sid,
      rid,
      ts,
    })
    run.equals('fields', fields(membersOrNone(response.json)), fields({ ...sent }))
  }),
  probe.specified(1, 'new-iv', 'Each response has its own IV of 96 bits.', async (run) => {
    const { sent, response } = await exchange(run)
    const { iv } = membersOrNone(response.json)
    run.holds(iv !== sent.iv && decodeBase64url(String(iv))?.length === 12, 'a new IV of 12 bytes', iv)
  }),
  probe.specified(1, 'replay', 'An envelope that was processed is refused.', async (run) => {
    const through = await session(run)
    isRefused(run, 'a replay', await replay(run, through))
  }),
  probe.specified(1, 'rid-once', 'Another envelope with a rid that was used is refused.', async (run) => {
    const through = await session(run)
    const { rid } = (await exchange(run)).sent
    isRefused(run, 'a used rid', await dispatch(run, through, sealed(through, anyCall(run), { rid })))
  }),
  ...[16, 64].map((length) =>
    probe(2, `rid-of-${length}`, `A rid of ${length} characters is accepted.`, async (run) => {
      const through = await session(run)
      isAccepted(
        run,
        'such a rid',
        await dispatch(run, through, sealed(through, anyCall(run), { rid: `-${ridOf(length)}` })),
      )
    }),
  ),
  ...[15, 65].map((length) =>
    probe(2, `rid-of-${length}`, `A rid of ${length} characters is refused.`, async (run) => {
      const through = await session(run)
      const envelope = sealed(through, anyCall(run), { rid: `_${ridOf(length)}` })
      isRefused(run, 'such a rid', await dispatch(run, through, envelope))
    }),
  ),
  probe(2, 'rid-with-a-dot', 'A rid with a character other than A-Za-z0-9_- is refused.', async (run) => {
    const through = await session(run)
    isRefused(run, 'a dot', await dispatch(run, through, sealed(through, anyCall(run), { rid: `.${ridOf(20)}` })))
  }),
  probe(2, 'largest', 'An envelope of 262,144 bytes is accepted.', async (run) => {
    const through = await session(run)
    const text = padded(sealed(through, anyCall(run)), MAX_ENVELOPE_BYTES)
    isAccepted(run, 'such an envelope', await dispatch(run, through, text))
  }),
  probe(2, 'too-large', 'An envelope of 262,145 bytes is refused.', async (run) => {
    const through = await session(run)
    const text = padded(sealed(through, anyCall(run)), MAX_ENVELOPE_BYTES + 1)
    isRefused(run, 'such an envelope', await dispatch(run, through, text))
  }),
]

/** Sends an envelope twice and returns the second response. */
export async function replay(run: ProbeContext, through: Awaited<ReturnType<typeof session>>): Promise<Observed> {
  const envelope = sealed(through, anyCall(run))
  const first = await dispatch(run, through, envelope)
  if (first.status >= 400) run.notApplicable(`Needs an accepted call: ${first.status} ${first.code ?? ''}.`)
  return dispatch(run, through, envelope)
}

/** Calls between an envelope and its replay: enough to leave a short window or small cache of used envelopes. */
const CALLS_BETWEEN = 40

export const replayMarks = [
  marks.specified(1, 'after-other-calls', `An envelope is refused ${CALLS_BETWEEN} calls later too.`, async (run) => {
    const through = await session(run)
    run.needsRefusal(await replay(run, through))
    const old = sealed(through, anyCall(run))
    for (let call = 0; call <= CALLS_BETWEEN; call += 1) {
      const { status } = await dispatch(run, through, call === 0 ? old : sealed(through, anyCall(run)))
      if (status >= 400) run.notApplicable(`Needs accepted calls: ${status}.`)
    }
    const { status } = await dispatch(run, through, old)
    run.holds(status >= 400 && status <= 499, 'a refusal of the replay', `status ${status}`)
  }),
]
