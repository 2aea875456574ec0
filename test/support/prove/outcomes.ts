import type { Facts } from '../../../src/prove/judge.js'
import type { Exit } from '../../../src/prove/process.js'
import type { Delivered, Ledger, Outcome, Run, Sent } from '../../../src/prove/record.js'

export const exit = (members: Partial<Exit> = {}): Exit => ({ code: 0, stdout: '', stderr: '', ...members })

/** A run of the action that ended with "done", or with "not done". */
export const run = (believesDone: boolean, number = 0): Run => ({
  number,
  believesDone,
  ending: believesDone ? 'exit code 0' : 'exit code 1',
  startedAt: number * 1000,
  endedAt: number * 1000 + 900,
})

const paths: Readonly<Record<string, string>> = {
  'vouchers.issue': '/api/v1/open-platform/vouchers/issue',
  'vouchers.verify': '/api/v1/open-platform/vouchers/verify',
  'vouchers.redeem': '/api/v1/open-platform/vouchers/redeem',
  'vouchers.reverse': '/api/v1/open-platform/vouchers/redemptions/red_1/reverse',
}

/** A call that succeeded; at a time of `at` ms it took 10 ms. */
export function sent(endpoint: string, { at = 0, ...members }: Partial<Sent> & { readonly at?: number } = {}): Sent {
  return {
    requestId: `req_${endpoint}_${at}`,
    endpoint,
    nth: 1,
    maker: 'action',
    run: 0,
    path: paths[endpoint] ?? '/',
    body: { of: endpoint },
    key: 'key-1',
    startedAt: at,
    endedAt: at + 10,
    status: 200,
    code: null,
    fault: undefined,
    retryAfterMs: undefined,
    replayed: false,
    data: {},
    ...members,
  }
}

/** A voucher of the ledger, redeemed if it has the id of a redemption. */
export const voucher = (id: string, redemptionId: string | null = null): Ledger[number] => ({
  id,
  status: redemptionId === null ? 'issued' : 'redeemed',
  redemptionId,
  externalIssueId: `order-of-${id}`,
})

export const delivered = (members: Partial<Delivered> = {}): Delivered => ({
  nth: 1,
  type: 'voucher_redeemed',
  updateId: 1,
  at: 0,
  status: 200,
  fault: undefined,
  isCopy: false,
  ...members,
})

/** An outcome in which the action did nothing, and said done. */
export const outcome = (id: string, members: Partial<Outcome> = {}): Outcome => ({
  id,
  tookEffect: true,
  runs: [run(true)],
  calls: [],
  deliveries: [],
  before: [],
  taken: undefined,
  after: [],
  state: null,
  copyChanged: false,
  waited: [],
  leaks: [],
  moments: [],
  exits: [],
  durationMs: 1000,
  ...members,
})

export const facts = (undisturbed: Outcome, members: Partial<Facts> = {}): Facts => ({
  undisturbed,
  ordersDiffer: false,
  stateRepeats: true,
  goesOn: undefined,
  ...members,
})
