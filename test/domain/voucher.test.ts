import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideIssue,
  newVoucher,
  obstacleOf,
  REVERSAL_WINDOW_MS,
  redemptionRecord,
  redemptionRecordAtRedeem,
  refuseRedeem,
  refuseReverse,
  statusOf,
  voucherRecord,
  voucherRecordAtIssue,
} from '../../src/domain/voucher.js'
import { redeemedRow, redemptionRow, templateRow, voucherRow } from '../support/store/rows.js'

fc.configureGlobal({ seed: 1 })

const DAY_MS = 86_400_000
const request = { template_id: 'tpl_1', external_issue_id: 'order-1', recipient_user_id: 'user-1' }

describe('new voucher', () => {
  const call = {
    ...{ applicationId: 'app_1', voucherId: 'vch_1', requestId: 'req_issue', calledBy: 'tok_1', now: 500 },
    idempotencyKey: { value: 'issue-1', fingerprint: 'of the request' },
    ...request,
  }
  const window = { validFrom: 1_000, validUntil: 2_000 }
  const credentials = {
    ...{ code_hint: 'ABCD', key_id: 'key_test', key_counter: 0 },
    ...{ redeem_code_hash: 'hash of a code', qr_token_hash: 'hash of a token' },
  }

  it('new voucher has the window, the credentials and the call that issued it', () => {
    expect(newVoucher(call, window, credentials)).toEqual(voucherRow())
  })

  it('new voucher of a bot has the channel and the id of the bot', () => {
    const issued = newVoucher({ ...call, botId: 'bot_1', idempotencyKey: undefined }, window, credentials)
    expect(issued).toEqual(voucherRow({ channel: 'bot', bot_id: 'bot_1', issue_idempotency_key: null }))
  })

  it('new voucher keeps the metadata of its request as JSON', () => {
    expect(newVoucher({ ...call, metadata: { till: '7' } }, window, credentials).metadata).toBe('{"till":"7"}')
  })
})

describe('voucher status', () => {
  it('unredeemed voucher is issued before and in its window, and then expired', { tags: 'vouchers/1' }, () => {
    expect(statusOf(voucherRow(), 0)).toBe('issued')
    expect(statusOf(voucherRow(), 1_999)).toBe('issued')
    expect(statusOf(voucherRow(), 2_000)).toBe('expired')
  })
  it('redeemed voucher never expires', { tags: 'vouchers/1' }, () =>
    expect(statusOf(redeemedRow(), 9e15)).toBe('redeemed'),
  )
})

describe('redemption', () => {
  it('voucher can be redeemed from validFrom until before validUntil', { tags: ['validity/1', 'validity/3'] }, () => {
    expect(refuseRedeem(voucherRow(), 999, 'user-1')).toEqual({
      ok: false,
      code: 'VOUCHER_NOT_YET_VALID',
      details: { valid_from: '1970-01-01T00:00:01.000Z' },
    })
    expect(refuseRedeem(voucherRow(), 1_000)).toBeNull()
    expect(refuseRedeem(voucherRow(), 1_999)).toBeNull()
    expect(refuseRedeem(voucherRow(), 2_000, 'user-1')).toEqual({
      ok: false,
      code: 'VOUCHER_EXPIRED',
      details: { valid_until: '1970-01-01T00:00:02.000Z' },
    })
  })

  it('second redemption is refused with id and time of the first', { tags: ['redemptions/1', 'redemptions/2'] }, () =>
    expect(refuseRedeem(redeemedRow(), 1_600, 'user-1')).toEqual({
      ok: false,
      code: 'VOUCHER_ALREADY_REDEEMED',
      details: { redemption_id: 'rdm_1', redeemed_at: '1970-01-01T00:00:01.500Z' },
    }),
  )

  it('redemption checks the recipient only if the call names one', { tags: 'redemptions/2' }, () => {
    expect(refuseRedeem(voucherRow(), 1_500, 'user-1')).toBeNull()
    expect(refuseRedeem(voucherRow(), 1_500, 'User-1')).toMatchObject({ code: 'RECIPIENT_MISMATCH' })
  })

  it('refusal as already redeemed takes precedence over expired, early and wrong recipient', () => {
    expect(obstacleOf(redeemedRow(), 2_000, 'other')).toBe('already_redeemed')
    expect(obstacleOf(voucherRow(), 2_000, 'other')).toBe('expired')
    expect(obstacleOf(voucherRow(), 999, 'other')).toBe('not_yet_valid')
    expect(obstacleOf(voucherRow(), 1_500, 'other')).toBe('recipient_mismatch')
  })

  it('redeem refuses exactly what verify reports, for every state, time and recipient', { tags: 'verify/2' }, () => {
    const codes = {
      already_redeemed: 'VOUCHER_ALREADY_REDEEMED',
      expired: 'VOUCHER_EXPIRED',
      not_yet_valid: 'VOUCHER_NOT_YET_VALID',
      recipient_mismatch: 'RECIPIENT_MISMATCH',
    } as const
    const times = fc.integer({ min: 0, max: 3_000 })
    fc.assert(
      fc.property(
        times,
        times,
        times,
        fc.boolean(),
        fc.constantFrom(undefined, 'user-1', 'other'),
        (a, b, now, used, who) => {
          const window = { valid_from: Math.min(a, b), valid_until: Math.max(a, b) + 1 }
          const voucher = used ? redeemedRow(window) : voucherRow(window)
          const reason = obstacleOf(voucher, now, who)
          const refusal = refuseRedeem(voucher, now, who)
          expect(refusal?.code ?? null).toBe(reason === null ? null : codes[reason])
          if (who === undefined) {
            expect(voucherRecord(voucher, templateRow(), now).redeemable).toBe(refusal === null)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('issuing of a voucher', () => {
  it('issue from an unknown template is refused as not found before any other check', () =>
    expect(decideIssue(undefined, voucherRow({ recipient_user_id: 'other' }), request, 0)).toMatchObject({
      code: 'TEMPLATE_NOT_FOUND',
    }))

  it('repeated external_issue_id returns the voucher whatever the state of its template', { tags: 'issue/2' }, () => {
    const existing = voucherRow()
    for (const overrides of [{ status: 'rejected' as const }, { issued_count: 10 }, { validity: fixed(0, 1) }]) {
      expect(decideIssue(templateRow(overrides), existing, request, 5 * DAY_MS)).toEqual({ ok: true, existing })
    }
  })

  it('repeated external_issue_id for another recipient is refused', { tags: ['issue/1', 'issue/2'] }, () =>
    expect(decideIssue(templateRow(), voucherRow({ recipient_user_id: 'other' }), request, 0)).toEqual({
      ok: false,
      code: 'EXTERNAL_ISSUE_ID_CONFLICT',
    }),
  )

  it.each(['draft', 'reviewing', 'rejected'] as const)(
    'issue from a template in the state %s is refused with that state',
    { tags: ['templates/1', 'template-states/2'] },
    (status) =>
      expect(decideIssue(templateRow({ status }), undefined, request, 0)).toEqual({
        ok: false,
        code: 'TEMPLATE_NOT_ACTIVE',
        details: { status },
      }),
  )

  it('refusal of an ended template validity takes precedence over an exhausted quota', { tags: 'validity/3' }, () => {
    const over = templateRow({ validity: fixed(0, 1_000), issued_count: 1000 })
    expect(decideIssue(over, undefined, request, 999)).toMatchObject({ code: 'TEMPLATE_QUOTA_EXHAUSTED' })
    expect(decideIssue(over, undefined, request, 1_000)).toMatchObject({ code: 'TEMPLATE_VALIDITY_ENDED' })
  })

  it('last voucher of the quota can be issued, the next cannot', { tags: ['templates/1', 'issue/1'] }, () => {
    expect(decideIssue(templateRow({ issued_count: 999 }), undefined, request, 0)).toMatchObject({ ok: true })
    expect(decideIssue(templateRow({ issued_count: 1000 }), undefined, request, 0)).toEqual({
      ok: false,
      code: 'TEMPLATE_QUOTA_EXHAUSTED',
      details: { issue_limit: 1000 },
    })
  })

  it('relative validity window of a voucher begins at its issue', () =>
    expect(decideIssue(templateRow(), undefined, request, 123)).toEqual({
      ok: true,
      existing: null,
      validFrom: 123,
      validUntil: 123 + 30 * DAY_MS,
    }))
})

describe('reversal', () => {
  it('redemption can be reversed for 90 days, to the millisecond', { tags: 'reversal/2' }, () => {
    expect(REVERSAL_WINDOW_MS).toBe(90 * DAY_MS)
    expect(refuseReverse(redemptionRow(), 1_500 + 90 * DAY_MS)).toBeNull()
    expect(refuseReverse(redemptionRow(), 1_501 + 90 * DAY_MS)).toEqual({
      ok: false,
      code: 'REVERSAL_WINDOW_CLOSED',
      details: { redeemed_at: '1970-01-01T00:00:01.500Z' },
    })
  })

  it('refusal as already reversed takes precedence over a closed reversal window', { tags: 'reversal/1' }, () =>
    expect(refuseReverse(redemptionRow({ reversed_at: 1_600 }), 9e12)).toEqual({
      ok: false,
      code: 'REDEMPTION_ALREADY_REVERSED',
      details: { reversed_at: '1970-01-01T00:00:01.600Z' },
    }),
  )
})

describe('voucher and redemption records', () => {
  it('response for a redemption shows the current state of its voucher', { tags: 'redemptions/2' }, () => {
    const reversed = redemptionRow({ reversed_at: 1_600, reversal_reason: 'wrong till' })
    expect(redemptionRecord(reversed, voucherRow(), 1_700)).toMatchObject({
      status: 'reversed',
      reversedAt: '1970-01-01T00:00:01.600Z',
      reversalReason: 'wrong till',
      voucher: { id: 'vch_1', status: 'issued', redeemable: true, codeHint: 'ABCD' },
    })
    expect(redemptionRecord(reversed, voucherRow(), 2_000).voucher).toMatchObject({
      status: 'expired',
      redeemable: false,
    })
    expect(redemptionRecord(redemptionRow(), redeemedRow(), 1_700)).toMatchObject({
      status: 'succeeded',
      voucher: { status: 'redeemed', redeemable: false },
    })
  })

  it('replay of an issue has the voucher as it was issued, even after its redemption', () => {
    const row = redeemedRow({ valid_from: 0 })
    expect(voucherRecordAtIssue(row, templateRow())).toEqual({
      ...voucherRecord(voucherRow({ valid_from: 0 }), templateRow(), row.issued_at),
      status: 'issued',
      redeemable: true,
      redeemedAt: null,
      redemptionId: null,
      updatedAt: '1970-01-01T00:00:00.500Z',
    })
  })

  it('replay of a redeem has the redemption and its voucher as they were, even after a reversal', () => {
    const reversed = redemptionRow({
      metadata: '{"till":"1","why":"wrong till"}',
      reversed_at: 1_600,
      reversal_reason: 'wrong till',
    })
    expect(redemptionRecordAtRedeem(reversed, voucherRow(), { till: '1' })).toEqual(
      redemptionRecord(redemptionRow({ metadata: '{"till":"1"}' }), redeemedRow(), 1_500),
    )
  })

  it('response for a voucher has the template summary and no HMAC key', { tags: 'vouchers/1' }, () => {
    const record = voucherRecord(voucherRow(), templateRow(), 1_500)
    expect(record).toMatchObject({
      name: 'One free coffee',
      externalTemplateId: 'coffee-1',
      codeHint: 'ABCD',
      redeemable: true,
    })
    expect(Object.keys(record)).not.toContain('key_id')
  })
})

function fixed(startsAtMs: number, endsAtMs: number): string {
  const iso = (ms: number) => new Date(ms).toISOString()
  return JSON.stringify({ type: 'fixed', startsAt: iso(startsAtMs), endsAt: iso(endsAtMs) })
}
