import { contract } from '../../../contract/index.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { botIssued, createdTemplate, issued, needsStatus, redeemed, verification } from './shared.js'

const probe = probesOf('rate-limits', { needs: ['token'] })
const reading = probe.with({ reads: true })
const { templates, vouchers, webhook } = contract
const WINDOW_S = 60
/** More than the processes of a platform that may count separately. */
const REFUSED_CALLS = 5

const listed = (it: ProbeContext, limit = 1) => it.call(templates.list, { limit })

/** Calls and seconds of a window, from RateLimit-Policy. */
function policyOf({ headers }: Observed) {
  const [, calls, seconds] = /;\s*q=(\d+)\s*;\s*w=(\d+)/.exec(headers['ratelimit-policy'] ?? '') ?? []
  return calls === undefined ? undefined : { calls: Number(calls), seconds: Number(seconds) }
}

/** Calls that are left in the window, from RateLimit. */
const remainingOf = ({ headers }: Observed) => Number(/;\s*r=(\d+)/.exec(headers.ratelimit ?? '')?.[1])

const reversal = async (run: ProbeContext) =>
  run.call(vouchers.reverse, { redemptionId: 'rdm_00000000000000000000000000' })
const redemption = async (it: ProbeContext) => (await redeemed(it)).response

interface Limit {
  readonly name: string
  readonly what: string
  readonly calls: number
  readonly needs: readonly Need[]
  readonly reads?: true
  call(it: ProbeContext): Promise<Observed>
}

const limits: readonly Limit[] = [
  { name: 'reads', what: 'read', calls: 6_000, needs: ['token'], reads: true, call: listed },
  { name: 'issue', what: 'issue', calls: 6_000, needs: ['token', 'template'], call: issued },
  { name: 'verify', what: 'verify', calls: 6_000, needs: ['token', 'template'], call: verification },
  { name: 'redeem', what: 'redeem', calls: 6_000, needs: ['token', 'template'], call: redemption },
  { name: 'reverse', what: 'reverse', calls: 1_200, needs: ['token'], call: reversal },
  { name: 'template-writes', what: 'write templates', calls: 120, needs: ['token'], call: createdTemplate },
  { name: 'bot-issue', what: 'issue', calls: 600, needs: ['bot', 'chat', 'template', 'token'], call: botIssued },
  {
    name: 'bot-calls',
    what: 'call',
    calls: 1_800,
    needs: ['bot'],
    reads: true,
    call: (it) => it.call(webhook.info, {}),
  },
]

export const rateLimits = [
  reading('headers', 'A response to a call with a token has RateLimit-Policy and RateLimit.', async (run) => {
    const { headers } = await listed(run)
    const isThere = headers['ratelimit-policy'] !== undefined && headers.ratelimit !== undefined
    run.holds(isThere, 'the headers RateLimit-Policy and RateLimit', Object.keys(headers).join(', '))
  }),
  ...limits.map(({ name, what, calls, needs, call, ...options }) =>
    probe.with({ needs, ...options })(
      name,
      `${name.startsWith('bot') ? 'A bot' : 'An application'} may ${what} ${calls} times in ${WINDOW_S} s.`,
      async (run) => {
        const policy = policyOf(await call(run))
        if (policy === undefined) run.notApplicable('Needs the header RateLimit-Policy.')
        run.equals('calls and seconds', policy, { calls, seconds: WINDOW_S })
      },
    ),
  ),
  reading('refused-calls', 'A call that is refused after its authentication counts against the limit.', async (run) => {
    const left: number[] = []
    for (let n = 0; n < REFUSED_CALLS; n += 1) {
      const refused = await listed(run, 0)
      needsStatus(run, refused, '4xx')
      left.push(remainingOf(refused))
    }
    if (left.some(Number.isNaN)) run.notApplicable('Needs the header RateLimit.')
    const [first = 0, last = 0] = [left[0], left.at(-1)]
    // A higher number at the end means that a new window has begun.
    if (last > first) run.notApplicable('Needs calls in one window.')
    run.holds(last < first, 'fewer calls left after each refused call', left)
  }),
]
