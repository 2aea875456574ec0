import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { isRest } from '../support/extent.js'
import { seededRandom, type TestApp, testApp } from '../support/server/app.js'
import { codeOf, newTenant } from '../support/server/tenant.js'
import { onPostgres } from '../support/store/engine-name.js'
import { History, isLinearizable } from '../support/store/linearizable.js'

/** Default number of histories: few on PostgreSQL, where each call takes several round trips. */
const usual = onPostgres ? 6 : isRest ? 40 : 20
/** `VOUCHERCTL_HISTORIES` is the number of histories, `VOUCHERCTL_SEED` repeats them. */
const histories = Number(process.env.VOUCHERCTL_HISTORIES ?? usual)
const seed = process.env.VOUCHERCTL_SEED ?? (isRest ? '2' : '1')
const CLIENTS = 4

// A history takes about 30 ms; the rest is reserve for a busy machine.
vi.setConfig({ testTimeout: 240_000 + 500 * histories })
const CALLS = 5

/** Model of a voucher: its active redemption, its reversed redemptions, and the redemption of each idempotency key. */
interface VoucherState {
  readonly live: string | null
  readonly reversed: readonly string[]
  readonly keys: Readonly<Record<string, string>>
}
type VoucherOp =
  | { readonly do: 'redeem'; readonly key: string; readonly got: string | null; readonly by: string | null }
  | { readonly do: 'reverse'; readonly of: string; readonly ok: boolean }
  | { readonly do: 'verify'; readonly live: string | null }

const unused: VoucherState = { live: null, reversed: [], keys: {} }

function voucherAfter(state: VoucherState, op: VoucherOp): VoucherState | null {
  if (op.do === 'verify') return op.live === state.live ? state : null
  if (op.do === 'reverse') {
    const isReversed = state.reversed.includes(op.of)
    if (!op.ok) return isReversed ? state : null
    if (isReversed || !Object.values(state.keys).includes(op.of)) return null
    return { ...state, live: state.live === op.of ? null : state.live, reversed: [...state.reversed, op.of].sort() }
  }
  const known = state.keys[op.key]
  if (op.got === null) return known === undefined && state.live !== null && state.live === op.by ? state : null
  if (known !== undefined) return known === op.got ? state : null
  const isNew = state.live === null && !Object.values(state.keys).includes(op.got)
  return isNew ? { ...state, live: op.got, keys: { ...state.keys, [op.key]: op.got } } : null
}

/** Calls on a template with a quota. */
type QuotaOp =
  | { readonly do: 'issue'; readonly ext: string; readonly got: string | null }
  | { readonly do: 'count'; readonly count: number }
/** Model of a template with a quota: the id of the issued voucher by external_issue_id. */
type QuotaState = Readonly<Record<string, string>>
const quotaAfter =
  (limit: number) =>
  (state: QuotaState, op: QuotaOp): QuotaState | null => {
    const count = Object.keys(state).length
    if (op.do === 'count') return op.count === count ? state : null
    const known = state[op.ext]
    if (op.got === null) return known === undefined && count === limit ? state : null
    if (known !== undefined) return known === op.got ? state : null
    return count < limit ? { ...state, [op.ext]: op.got } : null
  }

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

const dice = (name: string) => {
  const random = seededRandom(`${seed} ${name}`)
  return (sides: number) => (random(1)[0] as number) % sides
}

/** Runs CLIENTS clients concurrently; each makes CALLS calls one after another, with random pauses. */
const clients = (name: string, act: (client: number, roll: (sides: number) => number) => Promise<unknown>) =>
  Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      const roll = dice(`${name} ${client}`)
      for (let call = 0; call < CALLS; call++) {
        for (let pause = roll(4); pause > 0; pause--) await setImmediate()
        await act(client, roll)
      }
    }),
  )

const overlaps = ({ events }: History<unknown>) =>
  events.some((one) => events.some((other) => one !== other && one.began < other.began && other.began < one.ended))

it(`${histories} voucher histories are linearizable`, { tags: ['redemptions/1', 'reversal/1'] }, async () => {
  let overlapped = 0
  const tenant = await newTenant(server)
  const template = await tenant.template({ issue_limit: histories })
  for (let round = 0; round < histories; round++) {
    const credential = codeOf(await tenant.issue(template.id))
    const history = new History<VoucherOp>()
    const made: string[] = []
    await clients(`voucher ${round}`, async (client, roll) => {
      const choice = roll(5)
      if (choice === 0) {
        await history.call(
          client,
          () => tenant.runtime(contract.vouchers.verify, { credential }),
          ({ data }) => ({ do: 'verify', live: data.voucher.redemptionId }),
        )
      } else if (choice < 3 && made.length > 0) {
        const of = made[roll(made.length)] as string
        await history.call(
          client,
          () => tenant.runtime(contract.vouchers.reverse, { redemptionId: of }),
          ({ code }) => ({ do: 'reverse', of, ok: code === null }),
        )
      } else {
        const key = `redeem-${round}-${roll(5)}`
        const { code, data } = await history.call(
          client,
          async () => {
            const response = await tenant.runtime(contract.vouchers.redeem, { credential }, { key })
            return {
              code: response.code,
              details: response.details,
              data: response.code === null ? response.data : null,
            }
          },
          (got) => ({
            do: 'redeem',
            key,
            got: got.data?.id ?? null,
            by: (got.details.redemption_id as string) ?? null,
          }),
        )
        expect([null, 'VOUCHER_ALREADY_REDEEMED']).toContain(code)
        if (data !== null) made.push(data.id)
      }
    })
    if (overlaps(history)) overlapped += 1
    const orderly = isLinearizable(history.events, unused, voucherAfter)
    expect(orderly ? [] : history.events, `seed ${seed}, history ${round}`).toEqual([])
  }
  // A history without overlapping calls is always linearizable and would prove nothing.
  expect(overlapped).toBe(histories)
})

it(`${histories} quota histories are linearizable`, { tags: ['templates/1', 'issue/1'] }, async () => {
  const tenant = await newTenant(server)
  for (let round = 0; round < histories; round++) {
    const limit = 1 + (round % 5)
    const { id } = await tenant.template({ issue_limit: limit, external_template_id: `quota-${round}` })
    const history = new History<QuotaOp>()
    await clients(`quota ${round}`, async (client, roll) => {
      if (roll(4) === 0) {
        const filter = { external_template_id: `quota-${round}` }
        await history.call(
          client,
          () => tenant.runtime(contract.templates.list, filter),
          ({ data }) => ({ do: 'count', count: data.items[0]?.issuedCount as number }),
        )
        return
      }
      const ext = `e${roll(8)}`
      const input = { template_id: id, external_issue_id: ext, recipient_user_id: 'user-1' }
      const { code } = await history.call(
        client,
        () => tenant.runtime(contract.vouchers.issue, input),
        (response) => ({ do: 'issue', ext, got: response.code === null ? response.data.id : null }),
      )
      expect([null, 'TEMPLATE_QUOTA_EXHAUSTED']).toContain(code)
    })
    const orderly = isLinearizable<QuotaState, QuotaOp>(history.events, {}, quotaAfter(limit))
    expect(orderly ? [] : history.events, `seed ${seed}, history ${round}`).toEqual([])
  }
})

describe('linearizability checker', () => {
  const at = (began: number, ended: number, op: VoucherOp) => ({ client: 0, began, ended, op })
  const redeemed = (key: string, got: string): VoucherOp => ({ do: 'redeem', key, got, by: null })
  const impossible = {
    'two active redemptions': [at(1, 4, redeemed('a', 'r1')), at(2, 3, redeemed('b', 'r2'))],
    'a verify that misses a finished redeem': [at(1, 2, redeemed('a', 'r1')), at(3, 4, { do: 'verify', live: null })],
    'a redemption reversed twice': [
      at(1, 2, redeemed('a', 'r1')),
      at(3, 6, { do: 'reverse', of: 'r1', ok: true }),
      at(4, 5, { do: 'reverse', of: 'r1', ok: true }),
    ],
    'a refusal before the redemption that it names': [
      at(1, 2, { do: 'redeem', key: 'a', got: null, by: 'r1' }),
      at(3, 4, redeemed('b', 'r1')),
    ],
    'a key with two effects': [
      at(1, 2, redeemed('a', 'r1')),
      at(3, 4, { do: 'reverse', of: 'r1', ok: true }),
      at(5, 6, redeemed('a', 'r2')),
    ],
  }
  it.each(Object.entries(impossible))('linearizability checker rejects an impossible history: %s', (_what, events) => {
    expect(isLinearizable(events, unused, voucherAfter)).toBe(false)
  })

  it('linearizability checker accepts overlapping calls if some order of them is possible', () => {
    const events = [
      at(1, 6, { do: 'verify', live: 'r1' }),
      at(2, 5, { do: 'reverse', of: 'r1', ok: true }),
      at(0, 7, redeemed('a', 'r1')),
    ]
    expect(isLinearizable(events, unused, voucherAfter)).toBe(true)
  })
})
