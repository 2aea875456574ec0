import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { IssuedVoucher } from '../../src/contract/vouchers.js'
import type { CredentialKey } from '../../src/domain/keyring.js'
import type { TemplateRow } from '../../src/domain/template.js'
import type { RedemptionRow, VoucherRow } from '../../src/domain/voucher.js'
import { deleteExpiredRecords } from '../../src/store/idempotency.js'
import type { Store } from '../../src/store/store.js'
import * as vouchers from '../../src/store/vouchers.js'
import { onPostgres } from '../support/store/engine-name.js'
import { beforeEachStore, voucherEngines } from '../support/store/engines.js'
import { hashedOf, keys, Ledger } from '../support/store/ledger.js'

fc.configureGlobal({ seed: 1 })
/** Runs of each property test: fewer on PostgreSQL, because each run has up to 50 transactions. */
const numRuns = onPostgres ? 8 : 30

const DAY_MS = 86_400_000
const NOW = Date.UTC(2027, 2, 1)

describe.each(voucherEngines)('vouchers on $name', ({ create }) => {
  let store: Store
  beforeEachStore(create, (fresh) => {
    store = fresh
  })

  const issued = async (ledger: Ledger, id = 'order-1', now = NOW): Promise<IssuedVoucher> => {
    const response = await ledger.issue(id, now)
    if (!response.ok) throw new Error(response.code)
    return response.data
  }

  it('refused voucher operations write nothing to the database', async () => {
    const ledger = await new Ledger(store).open(2)
    const voucher = await issued(ledger)
    const redeemed = await ledger.redeem(voucher, NOW, { idempotencyKey: ledger.idempotencyKey('K') })
    const other = await issued(ledger, 'order-2')
    if (!redeemed.ok) throw new Error(redeemed.code)
    const before = await ledger.everything()
    const reused = { idempotencyKey: ledger.idempotencyKey('K', 'another request') }
    const late = NOW + 400 * DAY_MS

    const refusals = [
      await ledger.issue('order-3', NOW),
      await ledger.issue('order-1', NOW, { recipient_user_id: 'other' }),
      await ledger.issue('order-3', NOW, { template_id: 'tpl_0' }),
      await ledger.issue('order-3', NOW, reused),
      await ledger.redeem(voucher, NOW),
      await ledger.redeem(other, late),
      await ledger.redeem(other, NOW - 1),
      await ledger.redeem(other, NOW, { recipient_user_id: 'other' }),
      await ledger.redeem(other, NOW, { credential: { type: 'redeem_code', hashes: ['unknown'] } }),
      await ledger.redeem(other, NOW, { credential: { type: 'redeem_code', hashes: [] } }),
      await ledger.redeem(other, NOW, reused),
      await ledger.reverse('rdm_0', NOW),
      await ledger.reverse(redeemed.data.id, late),
      await ledger.reverse(redeemed.data.id, NOW, reused),
    ]
    expect(refusals.map((it) => (it.ok ? 'ok' : it.code))).toEqual([
      'TEMPLATE_QUOTA_EXHAUSTED',
      'EXTERNAL_ISSUE_ID_CONFLICT',
      'TEMPLATE_NOT_FOUND',
      'IDEMPOTENCY_KEY_REUSED',
      'VOUCHER_ALREADY_REDEEMED',
      'VOUCHER_EXPIRED',
      'VOUCHER_NOT_YET_VALID',
      'RECIPIENT_MISMATCH',
      'VOUCHER_NOT_FOUND',
      'VOUCHER_NOT_FOUND',
      'IDEMPOTENCY_KEY_REUSED',
      'REDEMPTION_NOT_FOUND',
      'REVERSAL_WINDOW_CLOSED',
      'IDEMPOTENCY_KEY_REUSED',
    ])
    expect(await ledger.everything()).toEqual(before)
  })

  it('verify writes nothing to the database', { tags: 'verify/1' }, async () => {
    const ledger = await new Ledger(store).open()
    const voucher = await issued(ledger)
    const before = await ledger.everything()
    expect(await ledger.verify(voucher, NOW)).toMatchObject({ ok: true, data: { redeemable: true, reason: null } })
    const data = { reason: 'expired', voucher: { status: 'expired' } }
    expect(await ledger.verify(voucher, NOW + 400 * DAY_MS)).toMatchObject({ ok: true, data })
    expect(await ledger.everything()).toEqual(before)
  })

  it('tables contain no credential; a replay derives it', { tags: ['credentials/1', 'credentials/4'] }, async () => {
    const ledger = await new Ledger(store).open()
    const idempotencyKey = ledger.idempotencyKey('K')
    const first = await ledger.issue('order-1', NOW, { idempotencyKey })
    const again = await ledger.issue('order-1', NOW, { idempotencyKey })
    if (!first.ok || !again.ok) throw new Error('not issued')
    expect(again).toEqual({ ...first, replayed: true })
    const stored = JSON.stringify(await ledger.everything())
    for (const { value } of first.data.credentials) {
      expect(stored).not.toContain(value)
      expect(stored).not.toContain(value.replaceAll('-', ''))
    }
  })

  it('voucher is found by code and QR token, but only in its application', { tags: 'credentials/1' }, async () => {
    const ledger = await new Ledger(store).open()
    const stranger = await new Ledger(store, 'app_2', 'tpl_2').open()
    const voucher = await issued(ledger)
    const byQr = { credential: hashedOf(voucher, 'qr_token') }
    expect(await stranger.redeem(voucher, NOW)).toMatchObject({ code: 'VOUCHER_NOT_FOUND' })
    expect(await stranger.verify(voucher, NOW)).toMatchObject({ code: 'VOUCHER_NOT_FOUND' })
    expect(await ledger.redeem(voucher, NOW, byQr)).toMatchObject({ ok: true, data: { credentialType: 'qr_token' } })
    expect(await ledger.redeem(voucher, NOW)).toMatchObject({ code: 'VOUCHER_ALREADY_REDEEMED' })
  })

  it('issue derives a credential with the next counter if another voucher has the first one', async () => {
    const ledger = await new Ledger(store).open()
    const first = await issued(ledger, 'order-1')
    // Credentials derive from the voucher id: a second voucher with this id would get the same first credentials.
    const voucherId = first.id
    const twin = await new Ledger(store, 'app_1', 'tpl_2').openTemplate()
    await store.write(function* () {
      // Rename the first voucher: its id becomes free while its credentials stay taken.
      yield { kind: 'run', sql: 'update vouchers set id = $2 where id = $1', params: [voucherId, 'vch_renamed'] }
    })
    const second = await twin.issue('order-2', NOW, { voucherId })
    if (!second.ok) throw new Error(second.code)
    const values = [...first.credentials, ...second.data.credentials].map((it) => it.value)
    expect(new Set(values).size).toBe(4)
    expect(await twin.redeem(second.data, NOW)).toMatchObject({ ok: true, data: { voucherId } })
    expect(await ledger.verify(first, NOW)).toMatchObject({ ok: true, data: { voucher: { id: 'vch_renamed' } } })
  })

  it('voucher of a replaced credential key can still be found, redeemed and replayed', async () => {
    const ledger = await new Ledger(store).open()
    const later: CredentialKey = { id: 'key_later', derive: keys.current.index, index: keys.current.derive }
    const ring = { current: later, all: [later, keys.current] }
    const idempotencyKey = ledger.idempotencyKey('K')
    const first = await ledger.issue('order-1', NOW, { idempotencyKey })
    const second = await ledger.issue('order-2', NOW, { keys: ring })
    if (!first.ok || !second.ok) throw new Error('not issued')
    expect(await ledger.issue('order-1', NOW, { idempotencyKey, keys: ring })).toEqual({ ...first, replayed: true })
    expect(await ledger.issue('order-1', NOW, { keys: ring })).toMatchObject({
      data: { credentials: first.data.credentials },
    })
    for (const { data } of [first, second]) {
      const [byCode, byQr] = [hashedOf(data, 'redeem_code', ring), hashedOf(data, 'qr_token', ring)]
      const verified = await store.read(() => vouchers.verify(ledger.applicationId, byQr, undefined, NOW))
      expect(verified).toMatchObject({ ok: true, data: { voucher: { id: data.id } } })
      expect(await ledger.redeem(data, NOW, { credential: byCode })).toMatchObject({ data: { voucherId: data.id } })
      expect(await ledger.redeem(data, NOW, { credential: byQr })).toMatchObject({ code: 'VOUCHER_ALREADY_REDEEMED' })
    }
  })

  it('idempotency records of issue and reverse expire in 30 days, records of a redeem never', async () => {
    const ledger = await new Ledger(store).open()
    const voucher = await issued(ledger)
    const redeemed = await ledger.redeem(voucher, NOW, { idempotencyKey: ledger.idempotencyKey('K') })
    if (!redeemed.ok) throw new Error(redeemed.code)
    await ledger.reverse(redeemed.data.id, NOW, { idempotencyKey: ledger.idempotencyKey('R') })
    const keysLeft = async () => (await ledger.everything()).idempotency_keys?.length

    expect(await keysLeft()).toBe(3)
    expect(await store.write(() => deleteExpiredRecords(NOW + 30 * DAY_MS - 1, 10))).toBe(0)
    expect(await store.write(() => deleteExpiredRecords(NOW + 30 * DAY_MS, 1))).toBe(1)
    expect(await store.write(() => deleteExpiredRecords(NOW + 30 * DAY_MS, 10))).toBe(1)
    expect(await keysLeft()).toBe(1)
    const late = await ledger.redeem(voucher, NOW + 4_000 * DAY_MS, { idempotencyKey: ledger.idempotencyKey('K') })
    expect(late).toEqual({ ...redeemed, replayed: true })
  })

  it('reversal merges its metadata into the metadata of the redemption', { tags: 'reversal/3' }, async () => {
    const ledger = await new Ledger(store).open()
    const redeemed = await ledger.redeem(await issued(ledger), NOW, { metadata: { till: '1', shift: 'early' } })
    if (!redeemed.ok) throw new Error(redeemed.code)
    const reversed = await ledger.reverse(redeemed.data.id, NOW, {
      metadata: { till: '2', by: 'ann' },
      reason: 'mistake',
    })
    expect(reversed).toMatchObject({
      data: { metadata: { till: '2', shift: 'early', by: 'ann' }, reversalReason: 'mistake', status: 'reversed' },
    })
  })

  it('reversal of an old redemption does not affect a later one of its voucher', { tags: 'reversal/2' }, async () => {
    const ledger = await new Ledger(store).open()
    const voucher = await issued(ledger)
    const first = await ledger.redeem(voucher, NOW)
    if (!first.ok) throw new Error(first.code)
    const key = { idempotencyKey: ledger.idempotencyKey('R') }
    await ledger.reverse(first.data.id, NOW + 1, key)
    const second = await ledger.redeem(voucher, NOW + 2)
    if (!second.ok) throw new Error(second.code)
    expect(await ledger.reverse(first.data.id, NOW + 3)).toMatchObject({ code: 'REDEMPTION_ALREADY_REVERSED' })
    expect(await ledger.reverse(first.data.id, NOW + 3, key)).toMatchObject({ ok: true, replayed: true })
    const [row] = (await ledger.everything()).vouchers as VoucherRow[]
    expect(row).toMatchObject({ state: 'redeemed', redemption_id: second.data.id, redeemed_at: NOW + 2 })
  })

  it('replay returns the first response whatever later voucher calls changed', async () => {
    const metadata = fc.constantFrom(undefined, { a: '1' }, { b: '2', a: '' })
    const action = fc.record({
      kind: fc.constantFrom('issue', 'redeem', 'reverse'),
      which: fc.nat(3),
      passes: fc.constantFrom(0, 1, DAY_MS, 2 * DAY_MS),
      metadata,
    })
    const validity = '{"type":"relative","durationDays":3,"delayDays":1,"notAfter":null}'
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
        run += 1
        const ledger = await new Ledger(store, `app_r${run}`, `tpl_r${run}`).open(10, validity)
        const vouchers: IssuedVoucher[] = []
        const redemptions: string[] = []
        const firsts: { data: unknown; status: number; again: () => Promise<unknown> }[] = []
        let now = NOW
        const call = async (repeat: () => ReturnType<Ledger['issue' | 'redeem' | 'reverse']>) => {
          const response = await repeat()
          if (response.ok) firsts.push({ data: response.data, status: response.status, again: repeat })
          return response
        }
        for (const [index, { kind, which, passes, metadata: given }] of actions.entries()) {
          now += passes
          const rest = { metadata: given ?? {}, idempotencyKey: ledger.idempotencyKey(`K${index}`) }
          const voucher = vouchers[which % Math.max(1, vouchers.length)]
          const redemptionId = redemptions[which % Math.max(1, redemptions.length)]
          if (kind === 'issue') {
            const response = await call(() =>
              ledger.issue(`order-${which}`, now, { ...rest, voucherId: `vch_r${run}_${index}` }),
            )
            if (response.ok && !response.replayed) vouchers.push(response.data as IssuedVoucher)
          } else if (kind === 'redeem' && voucher !== undefined) {
            const redemption = { ...rest, redemptionId: `rdm_r${run}_${index}`, reference: 'till' }
            const response = await call(() => ledger.redeem(voucher, now, redemption))
            if (response.ok) redemptions.push(response.data.id)
          } else if (kind === 'reverse' && redemptionId !== undefined) {
            await call(() => ledger.reverse(redemptionId, now, { ...rest, reason: 'mistake' }))
          }
        }
        now += DAY_MS
        for (const { data, status, again } of firsts) {
          expect(await again()).toEqual({ ok: true, replayed: true, status, data })
        }
      }),
      { numRuns },
    )
  })

  it('random voucher calls never break the quota or leave two active redemptions of a voucher', {
    tags: ['templates/1', 'redemptions/1', 'reversal/1'],
  }, async () => {
    const action = fc.record({
      kind: fc.constantFrom('issue', 'redeem', 'reverse'),
      which: fc.nat(5),
      passes: fc.constantFrom(0, 1, DAY_MS, 20 * DAY_MS, 60 * DAY_MS),
      recipient: fc.constantFrom(undefined, undefined, 'user-1', 'other'),
    })
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
        run += 1
        const ledger = await new Ledger(store, `app_${run}`, `tpl_${run}`).open(3)
        const vouchers: IssuedVoucher[] = []
        const redemptions: string[] = []
        let now = NOW
        for (const [index, { kind, which, passes, recipient }] of actions.entries()) {
          now += passes
          const voucher = vouchers[which % Math.max(1, vouchers.length)]
          const redemptionId = redemptions[which % Math.max(1, redemptions.length)]
          if (kind === 'issue') {
            const response = await ledger.issue(`order-${which}`, now, { voucherId: `vch_${run}_${index}` })
            if (response.ok && !response.replayed) vouchers.push(response.data)
          } else if (kind === 'redeem' && voucher !== undefined) {
            const verification = await ledger.verify(voucher, now, recipient)
            const redemption = { redemptionId: `rdm_${run}_${index}` }
            const presented = recipient === undefined ? redemption : { ...redemption, recipient_user_id: recipient }
            const response = await ledger.redeem(voucher, now, presented)
            expect(verification.ok && verification.data.redeemable).toBe(response.ok)
            if (response.ok) redemptions.push(response.data.id)
          } else if (kind === 'reverse' && redemptionId !== undefined) {
            await ledger.reverse(redemptionId, now)
          }
        }
        const stored = await ledger.everything()
        const ours = <T extends { application_id: string }>(table: string) =>
          (stored[table] as T[]).filter((row) => row.application_id === ledger.applicationId)
        const [template] = ours<TemplateRow>('templates')
        const rows = ours<VoucherRow>('vouchers')
        expect(template?.issued_count).toBe(rows.length)
        expect(rows.length).toBe(vouchers.length)
        expect(rows.length).toBeLessThanOrEqual(3)
        for (const row of rows) {
          const living = ours<RedemptionRow>('redemptions').filter(
            (it) => it.voucher_id === row.id && it.reversed_at === null,
          )
          expect(living.map((it) => it.id)).toEqual(row.state === 'redeemed' ? [row.redemption_id] : [])
        }
      }),
      { numRuns },
    )
  })
})
