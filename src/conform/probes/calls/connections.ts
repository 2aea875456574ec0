import { contract } from '../../../contract/index.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import type { RawReply } from '../../wire.js'
import { anonymousRead } from './shared.js'

const probe = probesOf('connections', { needs: ['token'] })
const anonymous = probe.with({ needs: [], plain: true })
const reading = probe.with({ reads: true })
const { list } = contract.templates
const { issue } = contract.vouchers

const NOT_HTTP = 'conform\r\n\r\n'
/** Ms to wait for a platform to end an incomplete request: its limit is 15 s, checked every few seconds. */
const INCOMPLETE_MS = 20_000

const getOf = (run: ProbeContext, path: string, headers: Readonly<Record<string, string>> = {}) =>
  run.wire.bytesOf({ method: 'GET', path, headers })

const statusesOf = ({ text }: RawReply) => [...text.matchAll(/HTTP\/1\.\d (\d{3}) /g)].map((match) => Number(match[1]))

function hasStatuses(run: ProbeContext, reply: RawReply, expected: readonly number[]): void {
  run.equals('statuses of the responses', statusesOf(reply), expected)
}

const waiting = probe.with({ needs: [], plain: true, waitsMs: INCOMPLETE_MS })

export const connections = [
  anonymous(1, 'order-of-responses', 'Responses of a connection have the order of the requests.', async (run) => {
    const paths = [list.path, '/api/v1/open-platform/conform', list.path, issue.path]
    const expected: number[] = []
    for (const path of paths) expected.push((await run.send({ method: 'GET', path, headers: {} })).status)
    if (new Set(expected).size < 2) run.notApplicable('Needs paths with different statuses.')
    const requests = paths.map((path, at) => getOf(run, path, at === 3 ? { connection: 'close' } : {}))
    hasStatuses(run, await run.wire.raw(requests.join('')), expected)
  }),
  anonymous(2, 'not-http', 'Bytes that are not HTTP are refused with 400.', async (run) =>
    hasStatuses(run, await run.wire.raw(NOT_HTTP), [400]),
  ),
  anonymous(2, 'close-after-a-refusal', 'A connection is closed after bytes that are not HTTP.', async (run) => {
    const { isClosed } = await run.wire.raw(NOT_HTTP)
    run.holds(isClosed, 'a closed connection', 'an open connection')
  }),
  anonymous(2, 'refusal-after-responses', 'Bytes other than HTTP are refused after earlier responses.', async (run) => {
    const { status } = await anonymousRead(run)
    const [refusal] = statusesOf(await run.wire.raw(NOT_HTTP))
    if (refusal === undefined || refusal === status)
      return run.notApplicable('Needs a refusal of bytes that are not HTTP.')
    hasStatuses(run, await run.wire.raw(`${getOf(run, list.path)}${NOT_HTTP}`), [status, refusal])
  }),
  anonymous(2, 'headers-too-large', 'A request with headers of 256 KiB is refused with 413.', async (run) => {
    const reply = await run.wire.raw(getOf(run, list.path, { 'x-conform': 'a'.repeat(256 * 1024) }))
    hasStatuses(run, reply, [413])
  }),
  waiting(2, 'incomplete-request', 'A request that is not complete within 15 s is refused with 400.', async (run) => {
    const head = run.wire.bytesOf({ method: 'POST', path: issue.path, headers: { 'content-length': '2' } })
    run.needsRefusal(await anonymousRead(run))
    hasStatuses(run, await run.wire.raw(head.slice(0, -2), { ms: INCOMPLETE_MS }), [400])
  }),
  anonymous(1, 'closed-side', 'A client that closes its side still receives its response.', async (run) => {
    const { status } = await anonymousRead(run)
    hasStatuses(run, await run.wire.raw(getOf(run, list.path), { ends: true }), [status])
  }),
  reading(4, 'two-authorization-headers', 'A call with two Authorization headers is refused with 401.', async (run) => {
    run.needs(await run.call(list, {}), 'a list')
    const value = `Bearer ${run.resources.credential('token')}`
    run.refuses(await run.send({ method: 'GET', path: list.path, headers: { authorization: [value, value] } }), 401)
  }),
]
