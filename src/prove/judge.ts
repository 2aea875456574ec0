import { asMembers } from '../values/json.js'
import {
  believesDone,
  isAccepted,
  isUnknown,
  type Ledger,
  mayBeRepeated,
  type Outcome,
  PLANTED_ID,
  type Sent,
} from './record.js'
import type { Weight } from './result.js'
import { callKey } from './same-call.js'

/** What the undisturbed runs show. */
export interface Facts {
  readonly undisturbed: Outcome
  /** True if the own ids of the program's orders differ between runs: each run is then an order of its own. */
  readonly ordersDiffer: boolean
  /** True if the program's own state is the same after each undisturbed run. */
  readonly stateRepeats: boolean
  /** True if the program continues with later calls of an endpoint after one was refused for good, as an import does. */
  readonly goesOn: boolean | undefined
}

/** What shows a finding: its subject, such as `vouchers.redeem`, by which it is reported once, and a sentence. */
interface Shown {
  readonly subject: string
  readonly sentence: string
}

interface Row {
  readonly weight: Weight
  /** What usually mends it. */
  readonly cure: string
  find(outcome: Outcome, facts: Facts): Shown | undefined
}

/** A retry that comes this much before the end of Retry-After is no fault of the program: timers are inexact. */
const EARLY_MS = 50
const SENDS_PER_SECOND_MAX = 10
const REFUSED_SENDS_MAX = 3
const final = new Set([400, 401, 403, 404, 409])

const ofPlatform = (it: Sent) => it.endpoint ?? it.path
const isTwin = ({ id }: Outcome) => id.includes('/twins')

/** Vouchers that the program redeemed itself. */
function redeemedBy({ before, after, taken }: Outcome): Ledger {
  const earlier = new Map(before.map((it) => [it.id, it.redemptionId]))
  return after.filter((it) => it.status === 'redeemed' && it.id !== taken && earlier.get(it.id) !== it.redemptionId)
}
function issuedBy({ before, after }: Outcome): Ledger {
  const earlier = new Set(before.map((it) => it.id))
  return after.filter((it) => !earlier.has(it.id))
}
/** True for a voucher from before the action. Its own id tells it apart: servers of --jobs have vouchers of their own. */
const isPlanted = ({ before }: Outcome, { externalIssueId }: Ledger[number]) =>
  before.some((it) => it.externalIssueId === externalIssueId)
const isSame = (one: Ledger[number]) => (it: Ledger[number]) => it.externalIssueId === one.externalIssueId
/** Names a voucher for the author of the program. */
const voucherName = ({ externalIssueId }: Ledger[number]) =>
  externalIssueId === PLANTED_ID ? 'the voucher of VOUCHERCTL_CODE' : `voucher ${externalIssueId}`

/** The number of orders that the program believes done; one if each run is the same order. */
const orders = (outcome: Outcome, { ordersDiffer }: Facts) =>
  ordersDiffer ? Math.max(1, outcome.runs.filter((it) => it.believesDone).length) : 1

/** The vouchers that the program was to redeem, and did not. */
function missingRedemptions(outcome: Outcome, facts: Facts): number {
  const [expected, actual] = [redeemedBy(facts.undisturbed), redeemedBy(outcome)]
  const planted = expected.filter((it) => isPlanted(facts.undisturbed, it))
  const own = expected.length - planted.length
  const ownNow = actual.filter((it) => !isPlanted(outcome, it)).length
  const missing = planted.filter((it) => !actual.some(isSame(it))).length
  const times = orders(outcome, facts)
  return missing + planted.length * (times - 1) + Math.max(0, own * times - ownNow)
}

/** Vouchers from before the action that are redeemed, where the undisturbed run leaves them reversed. */
const missingReversals = ({ before, after, taken }: Outcome, { undisturbed }: Facts): Ledger =>
  after.filter(
    (it) =>
      it.status === 'redeemed' &&
      it.id !== taken &&
      before.some(isSame(it)) &&
      undisturbed.after.find(isSame(it))?.status !== 'redeemed' &&
      undisturbed.calls.some((it) => it.endpoint === 'vouchers.reverse' && it.status < 300),
  )

const stateDiffers = (outcome: Outcome, { undisturbed, stateRepeats }: Facts) =>
  stateRepeats && believesDone(outcome) && outcome.state !== null && outcome.state !== undisturbed.state

const lastOf = (outcome: Outcome, endpoint: string) => outcome.calls.findLast((it) => it.endpoint === endpoint)

/** Groups the sends of one call within one run of the action. */
function sendsOf({ calls }: Outcome): Sent[][] {
  const groups = new Map<string, Sent[]>()
  for (const it of calls) {
    const key = `${it.run} ${callKey(it)}`
    groups.set(key, [...(groups.get(key) ?? []), it])
  }
  return [...groups.values()]
}

/** True if a response says what became of the call. */
const isSettled = (it: Sent) => !mayBeRepeated(it) && it.code !== 'IDEMPOTENCY_KEY_IN_PROGRESS'

/** True if another key follows before the outcome of a call is known. */
function hasNewKey({ key }: Sent, later: readonly Sent[]): boolean {
  const next = later.find((it) => it.key !== undefined && (it.key !== key || isSettled(it)))
  return next !== undefined && next.key !== key
}

const first = <T>(items: readonly T[], find: (it: T) => Shown | undefined): Shown | undefined => {
  for (const it of items) {
    const found = find(it)
    if (found !== undefined) return found
  }
  return undefined
}

/** Why the platform has less than the program believes. */
function lastAnswer(call: Sent | undefined): string {
  if (call === undefined) return 'the call was never made'
  const name = ofPlatform(call)
  if (call.fault === 'hang') return `${name} got no response, and your program took the time-out for success`
  if (call.fault === 'refuse_connection') return `the connection of ${name} was refused`
  if (call.status >= 300)
    return `${name} ${call.status < 500 ? 'was refused' : 'failed'} with ${call.status} ${call.code}`
  return `the last ${ofPlatform(call)} succeeded`
}

/** The judge: one row a finding, by weight, and within one weight causes before effects. */
export const rows = {
  new_key: {
    weight: 'money',
    cure: 'Make one idempotency key for each business action, before the first attempt, and send it with every retry.',
    find: (outcome) =>
      isTwin(outcome)
        ? undefined
        : first(sendsOf(outcome), (sends) => {
            const call = sends.find(
              (it, at) => isUnknown(it) && it.key !== undefined && hasNewKey(it, sends.slice(at + 1)),
            )
            if (call === undefined) return undefined
            const sentence = `${ofPlatform(call)} had an unknown outcome, and your program sent the same call again under another idempotency key.`
            return { subject: ofPlatform(call), sentence }
          }),
  },
  changed_body: {
    weight: 'money',
    cure: 'Store the body with the idempotency key, and repeat both unchanged.',
    find: ({ calls }) => {
      const call = calls.find((it) => it.code === 'IDEMPOTENCY_KEY_REUSED')
      return (
        call && {
          subject: ofPlatform(call),
          sentence: `Your program sent ${ofPlatform(call)} again under the same idempotency key with another body, and got 409 IDEMPOTENCY_KEY_REUSED.`,
        }
      )
    },
  },
  goods_given_away: {
    weight: 'money',
    cure: 'Say done only after a success of the redemption, or a replay of it: repeat with the same key after a lost response, and stop after a refusal.',
    find: (outcome, facts) => {
      if (!believesDone(outcome) || missingRedemptions(outcome, facts) === 0) return undefined
      const call = lastOf(outcome, 'vouchers.redeem')
      const voucher =
        outcome.taken === undefined ? 'the voucher is not redeemed' : 'another till had redeemed the voucher'
      const isReversed = outcome.calls.some((it) => it.endpoint === 'vouchers.reverse' && it.status < 300)
      const why = isReversed ? 'your program reversed the redemption' : lastAnswer(call)
      return { subject: 'vouchers.redeem', sentence: `Your program said done, but ${voucher}: ${why}.` }
    },
  },
  voucher_lost: {
    weight: 'money',
    cure: 'After a lost response repeat the call with the same key to learn its result; if the order fails, reverse the redemption.',
    find: (outcome, facts) => {
      if (believesDone(outcome)) {
        const [still] = missingReversals(outcome, facts)
        if (still === undefined) return undefined
        const why = lastAnswer(lastOf(outcome, 'vouchers.reverse'))
        return {
          subject: 'vouchers.reverse',
          sentence: `Your program said done, but the redemption of ${voucherName(still)} was not reversed: ${why}.`,
        }
      }
      if (outcome.taken !== undefined && facts.goesOn !== false) return undefined
      const [lost] = redeemedBy(outcome)
      if (lost === undefined) return undefined
      const sentence = `Your program never said done, and ${voucherName(lost)} stays redeemed: its owner has lost it.`
      return { subject: 'vouchers.redeem', sentence }
    },
  },
  redeemed_twice: {
    weight: 'money',
    cure: 'Bind one voucher to one order before the first attempt, and repeat with that voucher and its key only.',
    find: (outcome, facts) => {
      const [expected, actual] = [
        redeemedBy(facts.undisturbed).length * orders(outcome, facts),
        redeemedBy(outcome).length,
      ]
      if (actual <= expected || expected === 0) return undefined
      return {
        subject: 'vouchers.redeem',
        sentence: `Your program redeemed ${actual} vouchers; undisturbed it redeems ${expected}.`,
      }
    },
  },
  issued_twice: {
    weight: 'money',
    cure: 'Derive external_issue_id and idempotency key from the order, so that a repeat gets the same voucher.',
    find: (outcome, facts) => {
      const [expected, actual] = [issuedBy(facts.undisturbed).length * orders(outcome, facts), issuedBy(outcome)]
      if (actual.length <= expected || expected === 0 || !believesDone(outcome)) return undefined
      const ids = actual
        .map((it) => it.externalIssueId)
        .reverse()
        .slice(0, 3)
      return {
        subject: 'vouchers.issue',
        sentence: `Your program issued ${actual.length} vouchers (${ids.join(', ')}); undisturbed it issues ${expected}.`,
      }
    },
  },
  issue_missing: {
    weight: 'money',
    cure: 'Say done only after a success of the issue, or a replay of it.',
    find: (outcome, facts) => {
      const [expected, actual] = [issuedBy(facts.undisturbed).length * orders(outcome, facts), issuedBy(outcome).length]
      if (!believesDone(outcome) || actual >= expected) return undefined
      const why = lastAnswer(lastOf(outcome, 'vouchers.issue') ?? lastOf(outcome, 'bots.issue'))
      return {
        subject: 'vouchers.issue',
        sentence: `Your program said done, but ${expected - actual} of ${expected} vouchers were never issued: ${why}.`,
      }
    },
  },
  issue_orphaned: {
    weight: 'money',
    cure: 'Repeat the issue with the same key and external_issue_id, and hand out the voucher that the replay returns.',
    find: (outcome, facts) => {
      const known = new Set(outcome.calls.filter((it) => it.run > 0).map(({ data }) => asMembers(data)?.id))
      const orphan = issuedBy(outcome).find(({ id }) => !known.has(id))
      const isLeft = outcome.taken === undefined || facts.goesOn === false
      if (believesDone(outcome) || orphan === undefined || !isLeft) return undefined
      return {
        subject: 'vouchers.issue',
        sentence: `Your program never said done, but voucher ${orphan.externalIssueId} was issued, and no repeat used it.`,
      }
    },
  },
  forged_accepted: {
    weight: 'money',
    cure: 'Verify X-Platform-Signature-V2 over timestamp, dot and raw body, and the age of the timestamp, before anything else; respond 401 otherwise.',
    find: ({ id, deliveries, copyChanged }) => {
      const hasStale = id.includes('/stale') && copyChanged
      const accepted = deliveries.find(
        (it) => isAccepted(it.status) && (it.fault === 'forged' || (it.isCopy && hasStale)),
      )
      if (accepted === undefined) return undefined
      const what = accepted.isCopy ? 'that was signed 10 minutes ago, and its state changed' : 'with a wrong signature'
      return {
        subject: 'deliveries',
        sentence: `Your program responded ${accepted.status} to a delivery of ${accepted.type} ${what}.`,
      }
    },
  },
  delivery_counted_twice: {
    weight: 'money',
    cure: 'Store the update id in the same transaction as its effect, and ignore an id that is stored; do not rely on the order of arrival.',
    find: (outcome, facts) => {
      const [, kind = ''] = /\/(duplicate|late|kill)$/.exec(outcome.id) ?? []
      const what = {
        duplicate: 'arrived twice',
        late: 'arrived after its successor',
        kill: 'arrived again after a restart of the app',
      }[kind]
      const isCounted =
        kind === 'kill' ? outcome.copyChanged && !stateDiffers(outcome, facts) : stateDiffers(outcome, facts)
      if (what === undefined || !isCounted) return undefined
      return {
        subject: 'deliveries',
        sentence: `A delivery ${what}, and the state of your program differs from the undisturbed one.`,
      }
    },
  },
  delivery_dropped: {
    weight: 'money',
    cure: 'Write the update to disk before the 2xx, or do its work before the 2xx.',
    find: (outcome, facts) =>
      /^deliveries#\d+\/kill$/.test(outcome.id) && stateDiffers(outcome, facts)
        ? {
            subject: 'deliveries',
            sentence:
              'Your app responded 2xx to a delivery, was killed and started again, and its state lacks the delivery.',
          }
        : undefined,
  },
  secret_shown: {
    weight: 'secrets',
    cure: 'Print no tokens, secrets and codes; log the id of the voucher, its last four symbols, or the request id.',
    find: ({ leaks }) => {
      const leak = leaks.find((it) => it.isFinding)
      return leak && { subject: leak.what, sentence: `Your program printed ${leak.what} in ${leak.where}.` }
    },
  },
  stuck: {
    weight: 'manners',
    cure: 'Give each call a time limit, such as 15 s, and repeat it with the same key.',
    find: ({ waited: [call] }) =>
      call && {
        subject: ofPlatform(call),
        sentence: `Your program still waited for ${ofPlatform(call)} after 20 s without a response: it has no time limit.`,
      },
  },
  retry_storm: {
    weight: 'manners',
    cure: 'Wait for the seconds of Retry-After, else for a time that doubles with each attempt.',
    find: (outcome) =>
      isTwin(outcome)
        ? undefined
        : first(sendsOf(outcome), (sends) => {
            const early = sends.find(({ startedAt }, at) => {
              // Not since its end: a busy machine notes the end of a response after the program has it.
              const { startedAt: before = 0, retryAfterMs = 0 } = sends[at - 1] ?? {}
              return at > 0 && retryAfterMs > 0 && startedAt - before < retryAfterMs - EARLY_MS
            })
            const many = sends.find(
              ({ startedAt }, at) =>
                (sends[at + SENDS_PER_SECOND_MAX]?.startedAt ?? Number.POSITIVE_INFINITY) - startedAt < 1000,
            )
            const call = early ?? many
            if (call === undefined) return undefined
            const what = early
              ? 'again before its Retry-After had passed'
              : `more than ${SENDS_PER_SECOND_MAX} times in a second`
            return { subject: ofPlatform(call), sentence: `Your program sent ${ofPlatform(call)} ${what}.` }
          }),
  },
  retried_refusal: {
    weight: 'manners',
    cure: 'Repeat only what is retryable: lost responses, 429, 5xx and IDEMPOTENCY_KEY_IN_PROGRESS.',
    find: (outcome) =>
      first(sendsOf(outcome), (sends) => {
        const refused = sends.filter((it) => final.has(it.status) && it.code !== 'IDEMPOTENCY_KEY_IN_PROGRESS')
        const [call] = refused
        if (call === undefined || refused.length <= REFUSED_SENDS_MAX) return undefined
        return {
          subject: ofPlatform(call),
          sentence: `Your program sent ${ofPlatform(call)} ${refused.length} times, although ${call.status} ${call.code} cannot change.`,
        }
      }),
  },
} as const satisfies Record<string, Row>
export type FindingName = keyof typeof rows
