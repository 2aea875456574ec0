import { contract } from '../../../contract/index.js'
import { applicationToken } from '../../fixtures.js'
import { type DefineProbe, probesOf } from '../../probe.js'
import type { CallOptions, Observed, ProbeContext } from '../../probe-context.js'
import { botIssued, createdTemplate, issued, needsSuccess, redeemed, unredeemed, verification } from './shared.js'

const probe = probesOf('rate-limits', { needs: ['token'] })
const reading = probe.with({ reads: true })
const voucherProbe = probe.with({ needs: ['token', 'template'] })
const chatProbe = probe.with({ needs: ['bot', 'chat', 'template', 'token'] })
const botProbe = probe.with({ needs: ['bot'], reads: true })
const { templates, vouchers, webhook } = contract
const WINDOW_S = 60
/** More calls than a platform has processes that count separately. */
const REPEATED_CALLS = 5

const listed = (it: ProbeContext, limit = 1, options: CallOptions = {}) => it.call(templates.list, { limit }, options)

function policyOf({ headers }: Observed) {
  const [, calls, seconds] = /;\s*q=(\d+)\s*;\s*w=(\d+)/.exec(headers['ratelimit-policy'] ?? '') ?? []
  return calls === undefined ? undefined : { calls: Number(calls), seconds: Number(seconds) }
}

const remainingOf = ({ headers }: Observed) => Number(/;\s*r=(\d+)/.exec(headers.ratelimit ?? '')?.[1])

const reversal = async (run: ProbeContext) =>
  run.call(vouchers.reverse, { redemptionId: 'rdm_00000000000000000000000000' })
const redemption = async (it: ProbeContext) => (await redeemed(it)).response

/** Defines a probe that tests the limit of a window. */
const allows = (
  define: DefineProbe,
  name: string,
  what: string,
  calls: number,
  call: (it: ProbeContext) => Promise<Observed>,
) =>
  // Bots have a rule of their own.
  define(name.startsWith('bot-') ? 3 : 2, name, `${what} ${calls} times in ${WINDOW_S} s.`, async (run) => {
    const policy = policyOf(await call(run))
    if (policy === undefined) run.notApplicable('Needs the header RateLimit-Policy.')
    run.equals('calls and seconds', policy, { calls, seconds: WINDOW_S })
  })

export const rateLimits = [
  reading(4, 'headers', 'A response to a call with a token has RateLimit-Policy and RateLimit.', async (run) => {
    const { headers } = await listed(run)
    const isThere = headers['ratelimit-policy'] !== undefined && headers.ratelimit !== undefined
    run.holds(isThere, 'the headers RateLimit-Policy and RateLimit', Object.keys(headers).join(', '))
  }),
  allows(reading, 'reads', 'An application may read', 6_000, listed),
  allows(voucherProbe, 'issue', 'An application may issue', 6_000, issued),
  allows(voucherProbe, 'verify', 'An application may verify', 6_000, verification),
  allows(voucherProbe, 'redeem', 'An application may redeem', 6_000, redemption),
  allows(probe, 'reverse', 'An application may reverse', 1_200, reversal),
  allows(probe, 'template-writes', 'An application may write templates', 120, createdTemplate),
  allows(chatProbe, 'bot-issue', 'A bot may issue', 600, botIssued),
  allows(botProbe, 'bot-calls', 'A bot may call', 1_800, (it) => it.call(webhook.info, {})),
  probe.with({ needs: ['token', 'jwt', 'template'] })(
    2,
    'all-tokens',
    'Calls with another token of the application count against the same limit.',
    async (run) => {
      const { applicationId } = await unredeemed(run)
      const { token: credential } = await applicationToken(run, applicationId, ['vouchers:read'])
      const before = remainingOf(await listed(run))
      for (let n = 0; n < REPEATED_CALLS; n += 1) needsSuccess(run, await listed(run, 1, { as: { credential } }))
      const counted = before - remainingOf(await listed(run))
      if (Number.isNaN(counted)) run.notApplicable('Needs the header RateLimit.')
      if (counted < 1) run.notApplicable('Needs calls in one window.')
      run.holds(counted > 1, `${REPEATED_CALLS + 1} fewer calls left`, `${counted} fewer calls left`)
    },
  ),
  reading(4, 'refused-calls', 'A call refused after its authentication counts for the limit.', async (run) => {
    const left: number[] = []
    for (let n = 0; n < REPEATED_CALLS; n += 1) {
      left.push(remainingOf(run.needsRefusal(await listed(run, 0))))
    }
    if (left.some(Number.isNaN)) run.notApplicable('Needs the header RateLimit.')
    const [first = 0, last = 0] = [left[0], left.at(-1)]
    // If the number has grown, a new window has begun.
    if (last > first) run.notApplicable('Needs calls in one window.')
    run.holds(last < first, 'fewer calls left after each refused call', left)
  }),
]
