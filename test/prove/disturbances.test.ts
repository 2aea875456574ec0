import { describe, expect, test } from 'vitest'
import { failures } from '../../src/contract/errors.js'
import { endpoints } from '../../src/contract/index.js'
import {
  canBeDisturbed,
  type DisturbanceName,
  disturbanceOf,
  disturbances,
  faultOf,
  pairsOf,
  variantIn,
  variantOf,
  variantsOf,
} from '../../src/prove/disturbances.js'

const names = Object.keys(disturbances) as DisturbanceName[]
const call = (endpoint: string, nth = 1) => ({ endpoint, nth })
const verify = call('vouchers.verify')
const redeem = call('vouchers.redeem')
const both = { programs: true, app: true }
const ids = (...args: Parameters<typeof variantsOf>) => variantsOf(...args).map((it) => it.id)
const kindsOf = (all: readonly string[], subject: string) =>
  all.filter((it) => it.startsWith(`${subject}/`)).map((it) => it.slice(subject.length + 1))

describe('variants of a run', () => {
  test('each call has all disturbances that its endpoint can have', { tags: 'prove/3' }, () => {
    const ofRedeem = kindsOf(ids([redeem], [], both), 'vouchers.redeem#1')
    const ofVerify = kindsOf(ids([verify], [], both), 'vouchers.verify#1')
    expect(ofRedeem.toSorted()).toEqual(names.filter((it) => disturbanceOf(it).of !== 'delivery').toSorted())
    expect(ofRedeem.filter((it) => !ofVerify.includes(it))).toEqual(['refused_409', 'taken'])
  })

  test('each delivery has all disturbances of deliveries', () => {
    const expected = ['duplicate', 'late', 'lost', 'forged', 'stale', 'kill']
    const all = ids([], ['voucher_issued', 'voucher_redeemed'], both)
    expect(all).toEqual([1, 2].flatMap((nth) => expected.map((kind) => `deliveries#${nth}/${kind}`)))
  })

  test('calls that write come before calls that read', () => {
    const [first] = ids([verify, redeem], [], both)
    expect(first).toBe('vouchers.redeem#1/refuse_connection')
  })

  test('first deliveries come before first, last and other calls, and other deliveries come last', () => {
    const calls = [1, 2, 3].map((nth) => call('vouchers.issue', nth))
    const all = ids([...calls, verify], ['voucher_issued', 'voucher_issued'], both)
    const at = (id: string) => all.indexOf(id)
    const order = [
      'deliveries#1/duplicate',
      'deliveries#1/kill',
      'vouchers.issue#1/twins',
      'vouchers.verify#1/refuse_connection',
      'vouchers.verify#1/twins',
      'vouchers.issue#1/hang',
      'vouchers.issue#1/silence',
      'vouchers.verify#1/hang',
      'vouchers.issue#3/refuse_connection',
      'vouchers.issue#3/hang',
      'vouchers.issue#2/refuse_connection',
      'vouchers.issue#2/hang',
      'deliveries#2/duplicate',
    ].map(at)
    expect(order).not.toContain(-1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(new Set(all).size).toBe(all.length)
  })

  test('slow variants come last in each step', { tags: 'prove/3' }, () => {
    const all = ids([call('vouchers.issue'), call('vouchers.issue', 2)], [], both)
    const isSlow = all.map((it) => /silence|hang/.test(it))
    expect(isSlow).toEqual([1, 2].flatMap(() => [...Array(all.length / 2 - 2).fill(false), true, true]))
  })

  test('a function of this process is not killed', () => {
    const all = ids([redeem], ['voucher_issued'], { programs: false, app: false })
    expect(all.filter((it) => it.includes('kill'))).toEqual([])
    expect(all).toContain('vouchers.redeem#1/twins')
  })

  test('without an app nothing is killed after a delivery', () => {
    const all = ids([redeem], ['voucher_issued'], { programs: true, app: false })
    expect(kindsOf(all, 'deliveries#1')).not.toContain('kill')
    expect(kindsOf(all, 'vouchers.redeem#1')).toContain('kill_committed')
  })

  test('a run without calls and deliveries has no variant', () => {
    expect(ids([], [], both)).toEqual([])
  })
})

describe('ids of variants', () => {
  test('each variant can be read back from its id', () => {
    const all = variantsOf([verify, redeem, call('vouchers.issue', 12)], ['voucher_issued', 'voucher_redeemed'], both)
    const pairs = all.flatMap((it) => pairsOf(it, [call('vouchers.redeem', 2)], true))
    expect(pairs.length).toBeGreaterThan(0)
    for (const it of [...all, ...pairs]) expect(variantIn(it.id)).toEqual(it)
  })

  test.each([
    '',
    'vouchers.redeem',
    'vouchers.redeem#1',
    'vouchers.redeem#1/',
    'vouchers.redeem#0/error',
    'vouchers.redeem#01/error',
    'vouchers.redeem#1000000000/error',
    'vouchers.redeem#1/unknown',
    'vouchers.redeem#1/toString',
    'vouchers.redeem#1/error+',
    'vouchers.redeem#1/error vouchers.redeem#2/error',
    '#1/error',
  ])('%j names no variant', (id) => {
    expect(variantIn(id)).toBeUndefined()
  })
})

describe('pairs of disturbances', () => {
  const later = [call('vouchers.redeem', 2), call('vouchers.reverse')]
  const paired = ['refuse_connection', 'error', 'drop_response', 'kill_committed']

  test.each(paired)('%s is followed by a second disturbance of each later call', (kind) => {
    const first = variantOf({ ...redeem, kind: kind as DisturbanceName })
    expect(pairsOf(first, later, true).map((it) => it.id)).toEqual(
      ['vouchers.redeem#2', 'vouchers.reverse#1'].flatMap((it) => paired.map((next) => `${first.id}+${it}/${next}`)),
    )
  })

  test('a pair begins no further pair', () => {
    const [pair] = pairsOf(variantOf({ ...redeem, kind: 'error' }), later, true)
    expect(pair && pairsOf(pair, later, true)).toEqual([])
  })

  test('functions are not killed by the second disturbance', () => {
    const pairs = pairsOf(variantOf({ ...redeem, kind: 'error' }), later, false)
    expect(pairs.length).toBe(6)
    expect(pairs.filter((it) => it.id.includes('kill'))).toEqual([])
  })

  test('no other disturbance begins a pair', () => {
    const others = names.filter((it) => !paired.includes(it))
    expect(others.flatMap((kind) => pairsOf(variantOf({ ...redeem, kind }), later, true))).toEqual([])
  })
})

describe('disturbances', () => {
  test('each code of a refusal exists with its status', () => {
    const faults = endpoints.flatMap(({ id }) => names.map((kind) => faultOf({ endpoint: id, kind })))
    const codes = faults.flatMap((it) => (it?.kind === 'status' && it.code !== undefined ? [[it.code, it.status]] : []))
    expect(codes).toContainEqual(['VOUCHER_ALREADY_REDEEMED', 409])
    for (const [code, status] of codes) expect(failures[code as keyof typeof failures].status).toBe(status)
  })

  test('calls of operators and of unknown paths cannot be disturbed', () => {
    expect(canBeDisturbed(null)).toBe(false)
    expect(canBeDisturbed('no.such')).toBe(false)
    const operator = endpoints.find((it) => it.caller === 'operator')
    expect(canBeDisturbed(operator?.id ?? '')).toBe(false)
    expect(canBeDisturbed('vouchers.redeem')).toBe(true)
  })
})
