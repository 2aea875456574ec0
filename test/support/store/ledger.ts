import type { Credential, IssuedVoucher } from '../../../src/contract/vouchers.js'
import { indexCredential, parseCredential } from '../../../src/domain/credentials.js'
import type { Keyring } from '../../../src/domain/keyring.js'
import * as apps from '../../../src/store/apps.js'
import { all, type Op } from '../../../src/store/operation.js'
import type { Store } from '../../../src/store/store.js'
import * as templates from '../../../src/store/templates.js'
import * as vouchers from '../../../src/store/vouchers.js'
import { testKey } from '../server/app.js'
import { templateRow } from './rows.js'

export const keys = { current: testKey, all: [testKey] }

const tables = [
  'applications',
  'tokens',
  'templates',
  'vouchers',
  'redemptions',
  'idempotency_keys',
  'credential_keys',
] as const

/** Reads all rows of the tables above, by table name. */
export function* everything(): Op<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {}
  for (const table of tables) rows[table] = yield* all(`select * from ${table}`)
  return rows
}

/** Runs voucher operations with minimal inputs on one application with one active template. */
export class Ledger {
  #made = 0
  constructor(
    readonly store: Store,
    readonly applicationId = 'app_1',
    readonly templateId = 'tpl_1',
  ) {}

  async open(issueLimit?: number, validity?: string): Promise<this> {
    const { store, applicationId } = this
    await store.write(() => apps.create('acc', applicationId, { name: 'Shop' }, 0))
    return this.openTemplate(issueLimit, validity)
  }

  /** Creates only the template, so that a second Ledger can share the application of the first one. */
  async openTemplate(issueLimit = 10, validity?: string): Promise<this> {
    const { store, applicationId, templateId } = this
    const ids = { application_id: applicationId, id: templateId, external_template_id: templateId }
    const row = templateRow({ ...ids, issue_limit: issueLimit, ...(validity === undefined ? {} : { validity }) })
    await store.write(() => templates.create(row))
    await store.write(() => templates.submit({ applicationId }, templateId, 0, false))
    await store.write(() => templates.review(templateId, { approve: true }, 0))
    return this
  }

  idempotencyKey(value: string, fingerprint = value) {
    return { value, fingerprint }
  }

  source(call: string) {
    return { requestId: `req_${call}_${++this.#made}`, calledBy: 'tok_1' }
  }

  issue(externalIssueId: string, now: number, overrides: Partial<vouchers.Issue> = {}) {
    const call: vouchers.Issue = {
      applicationId: this.applicationId,
      template_id: this.templateId,
      external_issue_id: externalIssueId,
      recipient_user_id: 'user-1',
      metadata: {},
      idempotencyKey: this.idempotencyKey(`issue ${externalIssueId} ${now} ${++this.#made}`),
      voucherId: `vch_${++this.#made}`,
      newDeliveryId: () => `dlv_${++this.#made}`,
      ...this.source('issue'),
      now,
      keys,
      ...overrides,
    }
    return this.store.write(() => vouchers.issue(call))
  }

  redeem(voucher: Pick<IssuedVoucher, 'credentials'>, now: number, overrides: Partial<vouchers.Redeem> = {}) {
    const call: vouchers.Redeem = {
      applicationId: this.applicationId,
      credential: hashedOf(voucher),
      metadata: {},
      idempotencyKey: this.idempotencyKey(`redeem ${++this.#made}`),
      redemptionId: `rdm_${++this.#made}`,
      ...this.source('redeem'),
      newDeliveryId: () => `dlv_${++this.#made}`,
      now,
      ...overrides,
    }
    return this.store.write(() => vouchers.redeem(call))
  }

  reverse(redemptionId: string, now: number, overrides: Partial<vouchers.Reverse> = {}) {
    const call: vouchers.Reverse = {
      applicationId: this.applicationId,
      redemptionId,
      metadata: {},
      idempotencyKey: this.idempotencyKey(`reverse ${++this.#made}`),
      ...this.source('reverse'),
      newDeliveryId: () => `dlv_${++this.#made}`,
      now,
      ...overrides,
    }
    return this.store.write(() => vouchers.reverse(call))
  }

  verify(voucher: Pick<IssuedVoucher, 'credentials'>, now: number, recipient?: string) {
    return this.store.read(() => vouchers.verify(this.applicationId, hashedOf(voucher), recipient, now))
  }

  everything(): Promise<Record<string, unknown[]>> {
    return this.store.read(everything)
  }
}

export function hashedOf(
  voucher: Pick<IssuedVoucher, 'credentials'>,
  type: Credential['type'] = 'redeem_code',
  ring: Keyring = keys,
): vouchers.HashedCredential {
  const credential = voucher.credentials.find((it) => it.type === type) as Credential
  const parsed = parseCredential(credential.type, credential.value)
  if (!parsed.ok) throw new Error(`${credential.value} does not parse`)
  return { type, hashes: ring.all.map((it) => indexCredential(it.index, type, parsed.normalised)) }
}
