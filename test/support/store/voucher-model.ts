/**
 * Minimal model of a voucher service: one application, its templates, vouchers, redemptions and idempotency records.
 * It is written from the rules and not from the server code, because tests compare the model with the server.
 */
export const DAY = 86_400_000

export interface Window {
  readonly from: number
  readonly until: number
}

export interface ModelTemplate {
  readonly id: string
  readonly limit: number
  /** Validity of a voucher issued at `now`; null if the template can issue no more vouchers then. */
  readonly windowAt: (now: number) => Window | null
  status: 'draft' | 'reviewing' | 'active' | 'rejected'
  issued: number
}

export interface ModelVoucher extends Window {
  readonly template: ModelTemplate
  readonly ext: string
  readonly to: string
  /** Null as long as every response that contained the credentials was lost. */
  credentials: readonly { type: string; value: string }[] | null
  redemption: ModelRedemption | null
}

export interface ModelRedemption {
  /** Null as long as every response that contained the id was lost. */
  id: string | null
  readonly voucher: ModelVoucher
  readonly at: number
  reversedAt: number | null
}

interface IdempotencyRecord {
  readonly call: string
  readonly status: number
  /** The response body without its requestId; null as long as the response was lost. */
  sameness: string | null
  readonly expiresAt: number | null
  readonly subject: ModelVoucher | ModelRedemption
}

/** Expected response: an error code, or a success with members that the data must contain. */
export interface Expected {
  readonly status: number
  readonly code: string | null
  readonly replayed?: boolean
  readonly data?: Readonly<Record<string, unknown>>
  /** Response body (without requestId) that a replay must repeat; null if the first response was lost. */
  readonly sameness?: string | null
  /** Stores in the model values that only the server knows, such as ids and redeem codes. */
  learn?(data: Record<string, unknown>, sameness: string): void
}

const refused = (status: number, code: string): Expected => ({ status, code })
const instant = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

export class VoucherModel {
  readonly vouchers: ModelVoucher[] = []
  readonly redemptions: ModelRedemption[] = []
  readonly #keys = new Map<string, IdempotencyRecord>()
  isTokenRevoked = false
  isApplicationDisabled = false

  constructor(
    readonly templates: readonly ModelTemplate[],
    public now: number,
  ) {}

  /** The expected error if the token is revoked or the application is disabled, otherwise null. */
  gate(): Expected | null {
    if (this.isTokenRevoked) return refused(401, 'TOKEN_REVOKED')
    return this.isApplicationDisabled ? refused(403, 'APPLICATION_DISABLED') : null
  }

  statusOf(voucher: ModelVoucher): string {
    if (voucher.redemption !== null) return 'redeemed'
    return this.now < voucher.until ? 'issued' : 'expired'
  }

  obstacle(voucher: ModelVoucher, to?: string): [string, string] | null {
    if (voucher.redemption !== null) return ['already_redeemed', 'VOUCHER_ALREADY_REDEEMED']
    if (this.now >= voucher.until) return ['expired', 'VOUCHER_EXPIRED']
    if (this.now < voucher.from) return ['not_yet_valid', 'VOUCHER_NOT_YET_VALID']
    return to !== undefined && to !== voucher.to ? ['recipient_mismatch', 'RECIPIENT_MISMATCH'] : null
  }

  issue(template: ModelTemplate, ext: string, to: string, key: string): Expected {
    const call = JSON.stringify(['issue', template.id, ext, to])
    const earlier = this.#recall(key, call)
    if (earlier !== null) return earlier
    const existing = this.vouchers.find((it) => it.template === template && it.ext === ext)
    if (existing !== undefined) {
      if (existing.to !== to) return refused(409, 'EXTERNAL_ISSUE_ID_CONFLICT')
      return this.#done(key, call, 200, existing, this.#templateAndState(existing), true)
    }
    if (template.status !== 'active') return refused(409, 'TEMPLATE_NOT_ACTIVE')
    const window = template.windowAt(this.now)
    if (window === null) return refused(409, 'TEMPLATE_VALIDITY_ENDED')
    if (template.issued >= template.limit) return refused(409, 'TEMPLATE_QUOTA_EXHAUSTED')
    template.issued += 1
    const voucher: ModelVoucher = { ...window, template, ext, to, credentials: null, redemption: null }
    this.vouchers.push(voucher)
    return this.#done(key, call, 201, voucher, this.#templateAndState(voucher), false)
  }

  verify(voucher: ModelVoucher, to?: string): Expected {
    const reason = this.obstacle(voucher, to)?.[0] ?? null
    const data = {
      redeemable: reason === null,
      reason,
      checkedAt: instant(this.now),
      voucher: this.#templateAndState(voucher),
    }
    return { status: 200, code: null, data, learn: (response) => this.#learn(voucher, response.voucher as object) }
  }

  redeem(voucher: ModelVoucher, type: string, key: string, to?: string): Expected {
    const call = JSON.stringify(['redeem', voucher.template.id, voucher.ext, type, to ?? null])
    const earlier = this.#recall(key, call)
    if (earlier !== null) return earlier
    const obstacle = this.obstacle(voucher, to)
    if (obstacle !== null) return refused(409, obstacle[1])
    const redemption: ModelRedemption = { id: null, voucher, at: this.now, reversedAt: null }
    voucher.redemption = redemption
    this.redemptions.push(redemption)
    return this.#done(key, call, 200, redemption, this.#record(redemption), false)
  }

  reverse(redemption: ModelRedemption, key: string, reason?: string): Expected {
    const call = JSON.stringify(['reverse', redemption.id, reason ?? null])
    const earlier = this.#recall(key, call)
    if (earlier !== null) return earlier
    if (redemption.reversedAt !== null) return refused(409, 'REDEMPTION_ALREADY_REVERSED')
    if (this.now - redemption.at > 90 * DAY) return refused(409, 'REVERSAL_WINDOW_CLOSED')
    redemption.reversedAt = this.now
    if (redemption.voucher.redemption === redemption) redemption.voucher.redemption = null
    const data = { ...this.#record(redemption), reversalReason: reason ?? null }
    return this.#done(key, call, 200, redemption, data, false)
  }

  read(redemption: ModelRedemption): Expected {
    return { status: 200, code: null, data: this.#record(redemption) }
  }

  /** The replay of an earlier success or the error for a reused idempotency key; null for an unused key. */
  #recall(key: string, call: string): Expected | null {
    const record = this.#keys.get(key)
    if (record === undefined || (record.expiresAt !== null && this.now >= record.expiresAt)) return null
    if (record.call !== call) return refused(409, 'IDEMPOTENCY_KEY_REUSED')
    const learn = (data: Record<string, unknown>, sameness: string) => {
      record.sameness = sameness
      this.#learn(record.subject, data)
    }
    return { status: record.status, code: null, replayed: true, sameness: record.sameness, learn }
  }

  #done(
    key: string,
    call: string,
    status: number,
    subject: ModelVoucher | ModelRedemption,
    data: Expected['data'] & object,
    replayed: boolean,
  ): Expected {
    // Idempotency records of redeem never expire; records of issue and reverse expire after 30 days.
    const expiresAt = call.startsWith('["redeem"') ? null : this.now + 30 * DAY
    const record: IdempotencyRecord = { call, status, sameness: null, expiresAt, subject }
    this.#keys.set(key, record)
    const learn = (response: Record<string, unknown>, sameness: string) => {
      record.sameness = sameness
      this.#learn(subject, response)
    }
    return { status, code: null, replayed, data, learn }
  }

  #learn(subject: ModelVoucher | ModelRedemption, data: object): void {
    if ('template' in subject) {
      const { credentials, redemptionId } = data as {
        credentials?: ModelVoucher['credentials']
        redemptionId?: string
      }
      subject.credentials ??= credentials ?? null
      if (subject.redemption !== null && redemptionId) subject.redemption.id ??= redemptionId
      return
    }
    subject.id ??= (data as { id: string }).id
  }

  #templateAndState(voucher: ModelVoucher): Record<string, unknown> {
    return {
      templateId: voucher.template.id,
      externalIssueId: voucher.ext,
      recipientUserId: voucher.to,
      status: this.statusOf(voucher),
      redeemable: this.obstacle(voucher) === null,
      validFrom: instant(voucher.from),
      validUntil: instant(voucher.until),
      redeemedAt: instant(voucher.redemption?.at ?? null),
      ...(voucher.redemption === null ? { redemptionId: null } : {}),
      ...(voucher.redemption?.id ? { redemptionId: voucher.redemption.id } : {}),
    }
  }

  #record(redemption: ModelRedemption): Record<string, unknown> {
    const { voucher, id } = redemption
    return {
      ...(id === null ? {} : { id }),
      status: redemption.reversedAt === null ? 'succeeded' : 'reversed',
      externalIssueId: voucher.ext,
      recipientUserId: voucher.to,
      redeemedAt: instant(redemption.at),
      reversedAt: instant(redemption.reversedAt),
      voucher: { status: this.statusOf(voucher), redeemable: this.obstacle(voucher) === null },
    }
  }
}
