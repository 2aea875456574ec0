import { describe, expect, test } from 'vitest'
import { type Facts, type FindingName, rows } from '../../src/prove/judge.js'
import type { Outcome, Sent } from '../../src/prove/record.js'
import { findingsIn } from '../../src/prove/report.js'
import { delivered, facts, outcome, run, sent, voucher } from '../support/prove/outcomes.js'

/** Hand-made outcomes of one variant each; the names of what the judge finds in them. */
const found = (it: Outcome, known: Facts) => findingsIn(it, known).map(([name]) => name)

type Members = Partial<Outcome>
type RightCase = [about: string, id: string, members: Members, known?: Partial<Facts>]
type WrongCase = [finding: FindingName, about: string, id: string, members: Members, known?: Partial<Facts>]

const redeem = (members?: Parameters<typeof sent>[1]) => sent('vouchers.redeem', members)
const issue = (members?: Parameters<typeof sent>[1]) => sent('vouchers.issue', members)
const reverse = (members?: Parameters<typeof sent>[1]) => sent('vouchers.reverse', members)

const lost = { fault: 'drop_response' } as const
const hung = { fault: 'hang', status: 503 } as const
const unreached = { fault: 'refuse_connection', status: 503 } as const
const busy = { fault: 'status', status: 429, code: 'RATE_LIMITED', retryAfterMs: 1000 } as const
const failed = { fault: 'error', status: 503, code: 'SERVICE_UNAVAILABLE', retryAfterMs: 1000 } as const
const notFound = { fault: 'status', status: 404, code: 'VOUCHER_NOT_FOUND' } as const
const alreadyRedeemed = { status: 409, code: 'VOUCHER_ALREADY_REDEEMED' } as const
const inProgress = { status: 409, code: 'IDEMPOTENCY_KEY_IN_PROGRESS' } as const

const unused = [voucher('v1')]
const used = [voucher('v1', 'red_1')]
const [done, undone] = [[run(true)], [run(false)]]
const doneLater = [run(false), run(true, 1)]
const undoneTwice = [run(false), run(false, 1)]

describe('a till that redeems one voucher', () => {
  const base = { before: unused, after: used }
  const till = facts(outcome('undisturbed', { ...base, calls: [redeem()] }))
  const id = (kind: string) => `vouchers.redeem#1/${kind}`

  const right: readonly RightCase[] = [
    [
      'repeats with the same key after a lost response',
      id('drop_response'),
      { ...base, calls: [redeem(lost), redeem({ at: 500, replayed: true })] },
    ],
    [
      'repeats with the same key after a call that was not carried out',
      id('hang'),
      { ...base, calls: [redeem(hung), redeem({ at: 15_000 })] },
    ],
    [
      'repeats in the next run with the same key',
      id('silence'),
      {
        ...base,
        runs: doneLater,
        calls: [redeem({ fault: 'silence' }), redeem({ at: 1000, run: 1, replayed: true })],
      },
    ],
    [
      'repeats with another key after a refused connection, which did nothing',
      id('refuse_connection'),
      { ...base, calls: [redeem(unreached), redeem({ at: 500, key: 'key-2' })] },
    ],
    [
      'repeats with another key after 429, which did nothing',
      id('status_429'),
      { ...base, calls: [redeem(busy), redeem({ at: 1010, key: 'key-2' })] },
    ],
    ['waits for Retry-After of a 503', id('error'), { ...base, calls: [redeem(failed), redeem({ at: 1010 })] }],
    [
      'waits for Retry-After of a response whose end a busy machine noted late',
      id('error'),
      { ...base, calls: [redeem({ ...failed, endedAt: 300 }), redeem({ at: 1050 })] },
    ],
    [
      'waits for Retry-After with an inexact timer',
      id('error'),
      { ...base, calls: [redeem(failed), redeem({ at: 970 })] },
    ],
    [
      'fails after 503, and is run again before Retry-After has passed',
      id('error'),
      { ...base, runs: doneLater, calls: [redeem(failed), redeem({ at: 100, run: 1 })] },
    ],
    [
      'waits for a call with its key that still runs',
      id('silence'),
      {
        ...base,
        calls: [
          redeem({ fault: 'silence' }),
          ...[1, 2, 3, 4, 5].map((it) => redeem({ at: 1000 * it, ...inProgress })),
          redeem({ at: 6000, replayed: true }),
        ],
      },
    ],
    [
      'stops after a refusal with not done',
      id('refused_404'),
      { before: unused, after: unused, runs: undone, calls: [redeem(notFound)] },
    ],
    [
      'stops with not done when another till was first',
      id('taken'),
      {
        ...base,
        taken: 'v1',
        runs: undoneTwice,
        calls: [redeem(alreadyRedeemed), redeem({ at: 1000, run: 1, ...alreadyRedeemed })],
      },
    ],
    [
      'was never able to reach the platform, and says not done',
      id('refuse_connection'),
      { before: unused, after: unused, runs: undoneTwice, calls: [redeem(unreached)] },
    ],
    [
      'reverses its redemption, and says not done',
      id('cut_body'),
      { before: unused, after: unused, runs: undone, calls: [redeem({ fault: 'cut_body' }), reverse({ at: 500 })] },
    ],
    [
      'is killed, learns from a 409 that the redemption is its own, and says done',
      id('kill_answered'),
      {
        ...base,
        runs: doneLater,
        calls: [
          redeem(),
          redeem({ at: 1000, run: 1, key: 'key-2', ...alreadyRedeemed }),
          sent('vouchers.redemption', { at: 1100, run: 1 }),
        ],
      },
    ],
    [
      'runs twice at once with one key, and both say done',
      id('twins'),
      { ...base, runs: [run(true), run(true)], calls: [redeem(), redeem({ at: 1, nth: 2, replayed: true })] },
    ],
    [
      'runs twice at once with two keys, and only one says done',
      id('twins'),
      {
        ...base,
        runs: [run(true), run(false)],
        calls: [redeem(lost), redeem({ at: 1, nth: 2, key: 'key-2', ...alreadyRedeemed })],
      },
    ],
    [
      'redeems again after a reversal, with the key of the second redemption',
      id('drop_response'),
      {
        ...base,
        calls: [
          redeem(lost),
          redeem({ at: 500, replayed: true }),
          reverse({ at: 600 }),
          redeem({ at: 700, key: 'key-2' }),
        ],
      },
    ],
    [
      'repeats a call without key, such as verify, after a lost response',
      'vouchers.verify#1/drop_response',
      {
        ...base,
        calls: [
          sent('vouchers.verify', { ...lost, key: undefined }),
          sent('vouchers.verify', { at: 500, key: undefined }),
          redeem({ at: 600 }),
        ],
      },
    ],
    [
      'ran longer than its patience, and was not judged',
      id('hang'),
      { before: unused, after: unused, unjudged: 'it ran longer than 30 s' },
    ],
  ]

  test.each(right)('%s: nothing is found', (_about, variant, members, known) => {
    expect(found(outcome(variant, members), { ...till, ...known })).toEqual([])
  })

  const wrong: readonly WrongCase[] = [
    [
      'new_key',
      'repeats with another key after a lost response',
      id('drop_response'),
      { ...base, calls: [redeem(lost), redeem({ at: 500, key: 'key-2', ...alreadyRedeemed })] },
    ],
    [
      'new_key',
      'repeats with another key after a 503',
      id('error'),
      { ...base, calls: [redeem(failed), redeem({ at: 1010, key: 'key-2' })] },
    ],
    [
      'new_key',
      'repeats with the same key while the call still runs, then with another one',
      id('silence'),
      {
        ...base,
        calls: [
          redeem({ fault: 'silence' }),
          redeem({ at: 1000, ...inProgress }),
          redeem({ at: 2000, key: 'key-2', ...alreadyRedeemed }),
        ],
      },
    ],
    [
      'changed_body',
      'repeats with the same key and another body',
      id('drop_response'),
      {
        ...base,
        calls: [redeem(lost), redeem({ at: 500, body: { sent_at: 2 }, status: 409, code: 'IDEMPOTENCY_KEY_REUSED' })],
      },
    ],
    [
      'goods_given_away',
      'says done after a call that was not carried out',
      id('hang'),
      { before: unused, after: unused, calls: [redeem(hung)] },
    ],
    [
      'goods_given_away',
      'says done after a refusal',
      id('refused_404'),
      { before: unused, after: unused, calls: [redeem(notFound)] },
    ],
    [
      'goods_given_away',
      'says done when another till was first',
      id('taken'),
      { ...base, taken: 'v1', calls: [redeem(alreadyRedeemed)] },
    ],
    [
      'goods_given_away',
      'reverses its redemption, and says done',
      id('cut_body'),
      { before: unused, after: unused, calls: [redeem({ fault: 'cut_body' }), reverse({ at: 500 })] },
    ],
    [
      'goods_given_away',
      'says done without the call',
      'vouchers.verify#1/drop_response',
      { before: unused, after: unused, calls: [sent('vouchers.verify', lost)] },
    ],
    [
      'voucher_lost',
      'gives up after a lost response, and a repeat is refused',
      id('drop_response'),
      {
        ...base,
        runs: undoneTwice,
        calls: [redeem(lost), redeem({ at: 1000, run: 1, key: 'key-2', ...alreadyRedeemed })],
      },
    ],
    [
      'retry_storm',
      'repeats before Retry-After has passed',
      id('error'),
      { ...base, calls: [redeem(failed), redeem({ at: 900 })] },
    ],
    [
      'retry_storm',
      'sends a call 11 times in a second',
      id('refuse_connection'),
      { ...base, calls: Array.from({ length: 11 }, (_, at) => redeem({ ...(at < 10 && unreached), at: at * 99 })) },
    ],
    [
      'retried_refusal',
      'sends a refused call 4 times',
      id('revoked'),
      {
        before: unused,
        after: unused,
        runs: undone,
        calls: [0, 1, 2, 3].map((it) => redeem({ at: it * 1000, fault: 'status', status: 401, code: 'TOKEN_REVOKED' })),
      },
    ],
    [
      'stuck',
      'still waits after 20 s without a response',
      id('silence'),
      { ...base, calls: [redeem({ fault: 'silence' })], waited: [redeem({ fault: 'silence' })] },
    ],
  ]

  test.each(wrong)('%s: a till that %s', (finding, _about, variant, members, known) => {
    expect(found(outcome(variant, members), { ...till, ...known })).toEqual([finding])
  })

  test.each([
    [
      '10 sends of a call in a second are',
      Array.from({ length: 10 }, (_, at) => redeem({ ...(at < 9 && unreached), at })),
    ],
    [
      '11 sends of a call in more than a second are',
      Array.from({ length: 11 }, (_, at) => redeem({ ...(at < 10 && unreached), at: at * 100 })),
    ],
    [
      '11 calls with bodies of their own are',
      Array.from({ length: 11 }, (_, at) => redeem({ at, nth: at + 1, body: { at } })),
    ],
  ])('%s no retry_storm', (_about, calls) => {
    expect(found(outcome(id('refuse_connection'), { ...base, calls }), till)).toEqual([])
  })

  test.each<[about: string, calls: Sent[]]>([
    ['3 sends of a refused call', [0, 1, 2].map((it) => redeem({ at: it * 1000, ...notFound }))],
    ['a refused call in each of 4 runs', [0, 1, 2, 3].map((it) => redeem({ at: it * 1000, run: it, ...notFound }))],
    [
      'refusals of calls with bodies of their own',
      [0, 1, 2, 3].map((it) => redeem({ at: it * 1000, body: it, ...notFound })),
    ],
    ['429 four times', [0, 1, 2, 3].map((it) => redeem({ at: it * 2000, ...busy }))],
  ])('%s are no retried_refusal', (_about, calls) => {
    expect(found(outcome(id('refused_404'), { before: unused, after: unused, runs: undone, calls }), till)).toEqual([])
  })

  test('causes come before effects: the new key, then the voucher that it lost', () => {
    const calls = [redeem(lost), redeem({ at: 500, key: 'key-2', ...alreadyRedeemed })]
    expect(found(outcome(id('drop_response'), { ...base, runs: undone, calls }), till)).toEqual([
      'new_key',
      'voucher_lost',
    ])
  })

  test('an undisturbed run is judged for secrets only', () => {
    const leaks = [{ what: 'the application token', where: 'stdout of the action', isFinding: true }]
    const calls = [redeem(lost), redeem({ at: 500, key: 'key-2' })]
    expect(found(outcome('undisturbed', { ...base, calls, leaks }), till)).toEqual(['secret_shown'])
  })

  test('the sentence says what the platform did with the last call', () => {
    const [[, shown] = []] = findingsIn(
      outcome(id('hang'), { before: unused, after: unused, calls: [redeem(hung)] }),
      till,
    )
    expect(shown).toEqual({
      subject: 'vouchers.redeem',
      sentence:
        'Your program said done, but the voucher is not redeemed: vouchers.redeem got no response, and your program took the time-out for success.',
    })
  })
})

describe('a till whose orders have a new id in each run', () => {
  const base = { before: unused, after: used }
  const till = facts(outcome('undisturbed', { ...base, calls: [redeem()] }), { ordersDiffer: true })
  const twins = 'vouchers.redeem#1/twins'

  test('may run twice at once with two keys if only one says done', { tags: 'prove/2' }, () => {
    const calls = [redeem(), redeem({ at: 1, nth: 2, key: 'key-2', body: 2, ...alreadyRedeemed })]
    expect(found(outcome(twins, { ...base, runs: [run(true), run(false)], calls }), till)).toEqual([])
  })

  test('gives goods away if two orders say done on one redemption', () => {
    const calls = [redeem(), redeem({ at: 1, nth: 2, key: 'key-2', body: 2, ...alreadyRedeemed })]
    const runs = [run(true), run(true)]
    expect(found(outcome(twins, { ...base, runs, calls }), till)).toEqual(['goods_given_away'])
  })
})

describe('a shop that issues one voucher', () => {
  const base = { before: unused, after: [...unused, voucher('v2')] }
  const shop = facts(outcome('undisturbed', { ...base, calls: [issue()] }))
  const two = [...unused, voucher('v2'), voucher('v3')]
  const id = (kind: string) => `vouchers.issue#1/${kind}`

  const right: readonly RightCase[] = [
    [
      'gets the replay after a lost response',
      id('drop_response'),
      { ...base, calls: [issue(lost), issue({ at: 500, replayed: true })] },
    ],
    [
      'issues in a repeat of the action',
      id('kill_committed'),
      { ...base, runs: doneLater, calls: [issue(lost), issue({ at: 1000, run: 1, replayed: true })] },
    ],
    [
      'issues nothing, and says not done',
      id('revoked'),
      { before: unused, after: unused, runs: undone, calls: [issue({ status: 401, code: 'TOKEN_REVOKED' })] },
    ],
    [
      'issues once for two runs with orders of their own',
      id('twins'),
      {
        before: unused,
        after: two,
        runs: [run(true), run(true)],
        calls: [issue(), issue({ at: 1, nth: 2, key: 'key-2', body: 2 })],
      },
      { ordersDiffer: true },
    ],
  ]
  test.each(right)('%s: nothing is found', (_about, variant, members, known) => {
    expect(found(outcome(variant, members), { ...shop, ...known })).toEqual([])
  })

  const wrong: readonly WrongCase[] = [
    [
      'issued_twice',
      'issues once more in a repeat of the action',
      id('kill_answered'),
      {
        before: unused,
        after: two,
        runs: doneLater,
        calls: [issue(), issue({ at: 1000, run: 1, key: 'key-2', body: 2 })],
      },
    ],
    [
      'issued_twice',
      'issues once more for an order that was killed, though orders have new ids',
      id('kill_answered'),
      {
        before: unused,
        after: two,
        runs: doneLater,
        calls: [issue(), issue({ at: 1000, run: 1, key: 'key-2', body: 2 })],
      },
      { ordersDiffer: true },
    ],
    [
      'issue_missing',
      'says done after a refusal',
      id('refused_404'),
      { before: unused, after: unused, calls: [issue({ status: 404 })] },
    ],
    [
      'issue_orphaned',
      'gives up after a lost response',
      id('drop_response'),
      {
        ...base,
        runs: undoneTwice,
        calls: [issue(lost), issue({ at: 1000, run: 1, status: 409, code: 'EXTERNAL_ID_CONFLICT' })],
      },
    ],
  ]
  test.each(wrong)('%s: a shop that %s', (finding, _about, variant, members, known) => {
    expect(found(outcome(variant, members), { ...shop, ...known })).toEqual([finding])
  })
})

describe('an import that redeems two vouchers and issues one', () => {
  const before = [voucher('v1'), voucher('v2')]
  const after = [voucher('v1', 'red_1'), voucher('v2', 'red_2'), voucher('v3')]
  const calls = [redeem(), redeem({ at: 100, nth: 2, body: 2, key: 'key-2' }), issue({ at: 200, key: 'key-3' })]
  const batch = facts(outcome('undisturbed', { before, after, calls }))
  const taken = {
    ...{ before, after, taken: 'v1', runs: undoneTwice },
    calls: [redeem(alreadyRedeemed), redeem({ at: 100, nth: 2, body: 2, key: 'key-2' }), issue({ at: 200 })],
  }
  const id = 'vouchers.redeem#1/taken'

  test('may continue with its next rows after a refusal, and say not done', { tags: 'prove/2' }, () => {
    expect(found(outcome(id, taken), { ...batch, goesOn: true })).toEqual([])
  })

  test('is not judged by later rows if nobody knows whether it continues', () => {
    expect(found(outcome(id, taken), batch)).toEqual([])
  })

  test('that stops at a refusal must not have changed anything after it', () => {
    expect(found(outcome(id, taken), { ...batch, goesOn: false })).toEqual(['voucher_lost', 'issue_orphaned'])
  })

  test('that says done gives goods away', () => {
    expect(found(outcome(id, { ...taken, runs: done }), { ...batch, goesOn: true })).toEqual(['goods_given_away'])
  })

  test('redeemed_twice: more vouchers are redeemed than undisturbed', () => {
    const more = { before: [...before, voucher('v4')], after: [...after, voucher('v4', 'red_4')] }
    expect(found(outcome('vouchers.redeem#1/cut_body', { ...more, calls }), batch)).toEqual(['redeemed_twice'])
  })
})

describe('an action that issues a voucher and redeems it', () => {
  const calls = [issue(), redeem({ at: 100 })]
  const one = [voucher('v1', 'red_1')]
  const sale = facts(outcome('undisturbed', { after: one, calls }))

  test('may redeem a voucher with another id', () => {
    expect(found(outcome('vouchers.issue#1/error', { after: [voucher('v9', 'red_9')], calls }), sale)).toEqual([])
  })

  test('goods_given_away: its voucher stays unredeemed', () => {
    expect(found(outcome('vouchers.redeem#1/hang', { after: unused, calls: [issue(), redeem(hung)] }), sale)).toEqual([
      'goods_given_away',
    ])
  })
})

describe('an action that reverses a redemption', () => {
  const base = { before: used, after: unused }
  const refund = facts(outcome('undisturbed', { ...base, calls: [reverse()] }))
  const id = 'vouchers.reverse#1/hang'

  test.each([
    ['says done after the reversal', { ...base, calls: [reverse(lost), reverse({ at: 500, replayed: true })] }],
    ['says not done, and nothing was reversed', { before: used, after: used, runs: undone, calls: [reverse(hung)] }],
    ['says not done, although the reversal was carried out', { ...base, runs: undone, calls: [reverse(lost)] }],
  ])('that %s has no finding', (_about, members) => {
    expect(found(outcome(id, members), refund)).toEqual([])
  })

  test('voucher_lost: it says done, and the voucher stays redeemed', { tags: 'prove/3' }, () => {
    const it = outcome(id, { before: used, after: used, calls: [reverse(hung)] })
    expect(findingsIn(it, refund)).toEqual([
      [
        'voucher_lost',
        {
          subject: 'vouchers.reverse',
          sentence:
            'Your program said done, but the redemption of voucher order-of-v1 was not reversed: vouchers.reverse got no response, and your program took the time-out for success.',
        },
      ],
    ])
  })
})

describe('a receiver of deliveries', () => {
  const base = { before: unused, after: used, calls: [redeem()], state: '{"paid":1}' }
  const receiver = facts(outcome('undisturbed', { ...base, deliveries: [delivered()] }))
  const other = '{"paid":2}'
  const copy = delivered({ isCopy: true })
  const id = (kind: string) => `deliveries#1/${kind}`

  const right: readonly RightCase[] = [
    [
      'refuses a forged delivery',
      id('forged'),
      { deliveries: [delivered({ fault: 'forged', status: 401 }), delivered()] },
    ],
    [
      'does not respond to a forged delivery',
      id('forged'),
      { deliveries: [delivered({ fault: 'forged', status: null })] },
    ],
    ['refuses a stale delivery', id('stale'), { deliveries: [delivered(), { ...copy, status: 401 }] }],
    ['responds 2xx to a stale delivery without any change', id('stale'), { deliveries: [delivered(), copy] }],
    ['counts a duplicate once', id('duplicate'), { deliveries: [delivered({ fault: 'duplicate' }), delivered()] }],
    ['has the same state after a late delivery', id('late'), { deliveries: [delivered({ fault: 'late' })] }],
    ['has the same state after a kill', id('kill'), { deliveries: [delivered()] }],
    [
      'has another state after a duplicate, because the action was not done',
      id('duplicate'),
      { state: other, runs: undone, after: unused },
    ],
    ['has another state after each run', id('duplicate'), { state: other }, { stateRepeats: false }],
    ['has no --state', id('duplicate'), { state: null }, facts(outcome('undisturbed', { ...base, state: null }))],
    ['has another state after a disturbance of a call', 'vouchers.redeem#1/error', { state: other }],
    ['has another state after a kill of a call', 'vouchers.redeem#1/kill_committed', { state: other }],
  ]
  test.each(right)('%s: nothing is found', (_about, variant, members, known) => {
    expect(found(outcome(variant, { ...base, ...members }), { ...receiver, ...known })).toEqual([])
  })

  const wrong: readonly WrongCase[] = [
    [
      'forged_accepted',
      'responds 2xx to a forged delivery',
      id('forged'),
      { deliveries: [delivered({ fault: 'forged', status: 204 })] },
    ],
    [
      'forged_accepted',
      'changes its state by a stale delivery',
      id('stale'),
      { deliveries: [delivered(), copy], copyChanged: true },
    ],
    ['delivery_counted_twice', 'has another state after a duplicate', id('duplicate'), { state: other }],
    ['delivery_counted_twice', 'has another state after a late delivery', id('late'), { state: other }],
    ['delivery_dropped', 'has another state after a kill', id('kill'), { state: other }],
  ]
  test.each(wrong)('%s: a receiver that %s', (finding, _about, variant, members, known) => {
    expect(found(outcome(variant, { ...base, ...members }), { ...receiver, ...known })).toEqual([finding])
  })
})

describe('the table of the judge', () => {
  test('has money first, then secrets, then manners', () => {
    const weights = ['money', 'secrets', 'manners']
    const order = Object.values(rows).map((it) => weights.indexOf(it.weight))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  test('has a cure of one sentence or two for each finding', () => {
    for (const { cure } of Object.values(rows)) expect(cure).toMatch(/^[A-Z][^\n]{20,200}\.$/)
  })
})
