import { vouchers as contract, type IssuedVoucher, type Redemption } from '../../../contract/vouchers.js'
import type { Context } from '../../command/context.js'
import type { Result } from '../../output/outcome.js'

/** Changes of the voucher after the call whose response the server replays (rules/calls.md#replays). */
interface Since {
  readonly subject: 'redemption' | 'voucher'
  readonly status: string
  readonly at: string | null
}

/** Members added to a replayed response. `since`: null if nothing changed after that call, absent if unknown. */
export interface ReplayMembers {
  readonly replayed?: true
  readonly since?: Since | null
}

/** Schema of the members that mark a replay, so that `--fields` accepts them. */
export const replayShape = { properties: { replayed: {}, since: { properties: { subject: {}, status: {}, at: {} } } } }

/** Time limit of the lookup in ms: short, because the output of a successful command waits for it. */
const LOOKUP_MS = 3_000

/** Adds later changes to a replayed redemption or reversal. A failed lookup never fails the command. */
export async function withRedemptionReplay(
  context: Context,
  { data }: Result<Redemption>,
): Promise<Result<Redemption & ReplayMembers>> {
  const options = { timeoutMs: LOOKUP_MS, progress: 'Read what happened since' }
  const now = await context.call(contract.redemption, { redemptionId: data.id }, options)
  const current = now.ok ? (now.data as Partial<Redemption> | null) : undefined
  // A person sees the voucher as it is now; other formats keep the data of the response.
  const isForPeople = context.output.options.format === 'table'
  const shownData = isForPeople && current?.voucher ? { ...data, voucher: current.voucher } : data
  return replayOf(shownData, current, (shown) => {
    if (shown.status !== data.status)
      return { subject: 'redemption', status: shown.status ?? '', at: shown.reversedAt ?? null }
    const voucher = shown.voucher?.status
    return voucher === undefined || voucher === data.voucher?.status
      ? null
      : { subject: 'voucher', status: voucher, at: null }
  })
}

/** Adds later changes to a replayed issue; without a redeem code to look up, it only marks the replay. */
export async function withVoucherReplay(
  context: Context,
  data: IssuedVoucher,
  redeemCode: string | undefined,
): Promise<Result<IssuedVoucher & ReplayMembers>> {
  if (redeemCode === undefined) return replayOf(data, undefined, () => null)
  const options = { timeoutMs: LOOKUP_MS, progress: 'Read what happened since' }
  const now = await context.call(contract.verify, { credential: { type: 'redeem_code', value: redeemCode } }, options)
  return replayOf(data, now.ok ? (now.data.voucher as Partial<IssuedVoucher> | null) : undefined, (shown) =>
    shown.status === 'issued' ? null : { subject: 'voucher', status: shown.status ?? '', at: shown.redeemedAt ?? null },
  )
}

function replayOf<Data extends object, Now>(
  data: Data,
  now: Now | null | undefined,
  sinceOf: (now: Now) => Since | null,
): Result<Data & ReplayMembers> {
  const since = now === null || now === undefined ? {} : { since: sinceOf(now) }
  return { ok: true, data: { ...data, replayed: true, ...since }, reads: true }
}

/** True for a replayed response. Tests with `in`, because `sentence` drops a line that reads a missing member. */
export const isReplay = (data: ReplayMembers) => 'replayed' in data

/** Builds the headline of a replay, because the usual headline would claim a new action. */
export function replaySentence(replay: ReplayMembers, at: string | null): string {
  const first = `Replayed: first done at ${at ?? '-'}`
  const since = 'since' in replay ? replay.since : undefined
  if (since === undefined) return `${first}.`
  if (since === null) return `${first}; nothing has changed since.`
  const { subject, status } = since
  const when = since.at === null ? '' : ` (${since.at})`
  return `${first}; the ${subject} ${status === 'expired' ? 'has expired' : `was ${status}`} since${when}.`
}
