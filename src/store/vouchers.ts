import { type Refusal, refuse } from '../contract/errors.js'
import type { IssuedVoucher, Redemption, Verification, Voucher } from '../contract/vouchers.js'
import { codeHint, deriveCredential, indexCredential } from '../domain/credentials.js'
import { IDEMPOTENCY_LIFETIME_MS } from '../domain/idempotency.js'
import { type CredentialKey, type Keyring, keyOf } from '../domain/keyring.js'
import type { RedemptionRow, VoucherRow } from '../domain/rows.js'
import { formatInstant } from '../domain/time.js'
import {
  decideIssue,
  type IssuingTemplate,
  obstacleOf,
  redemptionRecord,
  redemptionRecordAtRedeem,
  type RedeemableVoucher,
  refuseRedeem,
  refuseReverse,
  type RedeemRefusal,
  type ShownVoucher,
  voucherRecord,
  voucherRecordAtIssue,
} from '../domain/voucher.js'
import { type Faces, faceOf } from './faces.js'
import { type IdempotencyClaim, type Replay, remember, replayOf } from './idempotency.js'
import { type Op, type RowLock, one, run, together } from './operation.js'
import { tellLinkedBots } from './outbox.js'
import type { Shared } from './store.js'

/** A success with the status that it answers, and whether an earlier call had it first. */
export interface Answered<Data> {
  readonly ok: true
  readonly status: 200 | 201
  readonly replayed: boolean
  readonly data: Data
}

export interface Issue {
  readonly applicationId: string
  readonly templateId: string
  readonly externalIssueId: string
  readonly recipientUserId: string
  readonly metadata: Readonly<Record<string, string>>
  /** Absent where a call without a key is allowed. */
  readonly claim: IdempotencyClaim | undefined
  /** Of the voucher, when this call makes one. */
  readonly voucherId: string
  /** That puts it into a chat; absent for a direct issue. */
  readonly botId?: string
  readonly newDeliveryId: () => string
  readonly now: number
  readonly keys: Keyring
  readonly faces?: Faces
}

/**
 * Issues of one template meet on its quota anyway: together they take its row once. Past the quota the check of the
 * table ends the commit, and each runs alone.
 */
export function sharedIssue(applicationId: string, templateId: string, externalIssueId: string): Shared {
  return { commit: `issue ${applicationId} ${templateId}`, apart: externalIssueId }
}

/**
 * Redeems of one application, in two halves so that one can run while the other waits for the disk. A voucher that is
 * named by its code and by its QR token at once ends the commit by the index of redemptions in force.
 */
export function sharedRedeem(applicationId: string, [hash]: readonly string[]): Shared | undefined {
  if (hash === undefined) return undefined
  return { commit: `redeem ${applicationId} ${hash.charCodeAt(0) % 2}`, apart: hash }
}

export type IssueRefusal = Refusal<
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'TEMPLATE_NOT_FOUND'
  | 'TEMPLATE_NOT_ACTIVE'
  | 'TEMPLATE_VALIDITY_ENDED'
  | 'TEMPLATE_QUOTA_EXHAUSTED'
  | 'EXTERNAL_ISSUE_ID_CONFLICT'
>

export function* issue(call: Issue): Op<Answered<IssuedVoucher> | IssueRefusal> {
  const [before, template] = yield* together(issuedUnderKey(call), issuingTemplate(call.applicationId, call.templateId))
  return before ?? (yield* issueFrom(template, call))
}

/** The answer of an earlier call under the same key; null when there is none. */
export function* issuedUnderKey({
  applicationId,
  claim,
  keys,
  now,
  faces = new Map(),
}: Pick<Issue, 'applicationId' | 'claim' | 'keys' | 'now' | 'faces'>): Op<
  Answered<IssuedVoucher> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null
> {
  const replay = claim === undefined ? null : yield* replayOf<Voucher>(applicationId, claim, now)
  return replay === null || 'ok' in replay ? replay : yield* issuedBefore(applicationId, replay, keys, faces)
}

/** As `issue`, once it is known that nothing is kept under the call's key. */
export function* issueNow(call: Issue): Op<Answered<IssuedVoucher> | IssueRefusal> {
  return yield* issueFrom(yield* issuingTemplate(call.applicationId, call.templateId), call)
}

function* issueFrom(template: IssuingTemplate | undefined, call: Issue): Op<Answered<IssuedVoucher> | IssueRefusal> {
  const { applicationId, claim, keys, now, faces = new Map() } = call
  const decision = decideIssue(template, undefined, call, now)
  const made = decision.ok && decision.existing === null ? yield* insertVoucher(call, decision) : null
  if (made !== null) {
    const face = yield* faceOf(faces, applicationId, call.templateId)
    const voucher = voucherRecord(made.row, face, now)
    const success = { status: 201 as const, subjectId: made.row.id, data: null }
    yield* together(
      countIssued(call),
      remember(applicationId, claim, success, now, now + IDEMPOTENCY_LIFETIME_MS),
      tellLinkedBots(applicationId, 'voucher_issued', () => ({ voucher }), call),
    )
    return { ok: true, status: 201, replayed: false, data: { ...voucher, credentials: made.credentials } }
  }

  // It is there already, or it is refused unless it is there already.
  const existing = yield* one<VoucherRow>(
    'select * from vouchers where application_id = $1 and template_id = $2 and external_issue_id = $3',
    [applicationId, call.templateId, call.externalIssueId],
  )
  const repeat = decideIssue(template, existing, call, now)
  if (!repeat.ok) return repeat
  const row = existing as VoucherRow
  const data = voucherRecord(row, yield* faceOf(faces, applicationId, call.templateId), now)
  yield* remember(applicationId, claim, { status: 200, subjectId: row.id, data }, now, now + IDEMPOTENCY_LIFETIME_MS)
  return { ok: true, status: 200, replayed: true, data: { ...data, credentials: credentialsOf(row, keys) } }
}

function* issuedBefore(
  applicationId: string,
  replay: Replay<Voucher>,
  keys: Keyring,
  faces: Faces,
): Op<Answered<IssuedVoucher>> {
  const row = (yield* voucherById(applicationId, replay.subjectId)) as VoucherRow
  const data = replay.data ?? voucherRecordAtIssue(row, yield* faceOf(faces, applicationId, row.template_id))
  return { ok: true, status: replay.status, replayed: true, data: { ...data, credentials: credentialsOf(row, keys) } }
}

function* issuingTemplate(applicationId: string, id: string): Op<IssuingTemplate | undefined> {
  return yield* one<IssuingTemplate>(
    'select status, validity, issue_limit, issued_count from templates where application_id = $1 and id = $2',
    [applicationId, id],
    'row',
  )
}

type Credentials = IssuedVoucher['credentials']

/** Credentials are derived when they are shown; the tables hold their hashes only. */
export function credentialsOf(row: Pick<VoucherRow, 'id' | 'key_id' | 'key_counter'>, keys: Keyring): Credentials {
  return deriveCredentials(keyOf(keys, row.key_id), row.id, row.key_counter)
}

function deriveCredentials({ derive }: CredentialKey, voucherId: string, counter: number): Credentials {
  return [
    { type: 'redeem_code', value: deriveCredential(derive, voucherId, 'redeem_code', counter) },
    { type: 'qr_token', value: deriveCredential(derive, voucherId, 'qr_token', counter) },
  ]
}

/** Null when the external_issue_id has its voucher already. */
function* insertVoucher(
  call: Issue,
  window: { validFrom: number; validUntil: number },
): Op<{ row: VoucherRow; credentials: Credentials } | null> {
  const { applicationId, voucherId, now } = call
  const key = call.keys.current
  let credentials = deriveCredentials(key, voucherId, 0)
  const row: VoucherRow = {
    application_id: applicationId,
    id: voucherId,
    template_id: call.templateId,
    external_issue_id: call.externalIssueId,
    recipient_user_id: call.recipientUserId,
    state: 'issued',
    valid_from: window.validFrom,
    valid_until: window.validUntil,
    code_hint: hintOf(credentials),
    key_id: key.id,
    key_counter: 0,
    channel: call.botId === undefined ? 'direct' : 'bot',
    bot_id: call.botId ?? null,
    issued_at: now,
    redeemed_at: null,
    redemption_id: null,
    metadata: JSON.stringify(call.metadata),
    updated_at: now,
  }
  const inserted = yield* run(
    `insert into vouchers (application_id, id, template_id, external_issue_id, recipient_user_id, state, valid_from,
       valid_until, code_hint, key_id, key_counter, channel, bot_id, issued_at, redeemed_at, redemption_id, metadata,
       updated_at)
     values ($1, $2, $3, $4, $5, 'issued', $6, $7, $8, $9, 0, $10, $11, $12, null, null, $13, $12)
     on conflict (application_id, template_id, external_issue_id) do nothing`,
    [
      row.application_id,
      row.id,
      row.template_id,
      row.external_issue_id,
      row.recipient_user_id,
      row.valid_from,
      row.valid_until,
      row.code_hint,
      row.key_id,
      row.channel,
      row.bot_id,
      row.issued_at,
      row.metadata,
    ],
  )
  if (inserted === 0) return null
  while (!(yield* claimCredentials(applicationId, voucherId, credentials, key.index))) {
    row.key_counter += 1
    credentials = deriveCredentials(key, voucherId, row.key_counter)
    row.code_hint = hintOf(credentials)
    yield* run('update vouchers set key_counter = $3, code_hint = $4 where application_id = $1 and id = $2', [
      applicationId,
      voucherId,
      row.key_counter,
      row.code_hint,
    ])
  }
  return { row, credentials }
}

function countIssued({ applicationId, templateId }: Issue): Op<number> {
  return run('update templates set issued_count = issued_count + 1 where application_id = $1 and id = $2', [
    applicationId,
    templateId,
  ])
}

function hintOf([redeemCode]: Credentials): string {
  return codeHint((redeemCode as Credentials[number]).value)
}

/** Enters both credentials into the index; false when another voucher of the application has one of them. */
function* claimCredentials(
  applicationId: string,
  voucherId: string,
  credentials: Credentials,
  index: Uint8Array,
): Op<boolean> {
  const [redeemCode, qrToken] = credentials.map(({ value }) => value) as [string, string]
  const inserted = yield* run(
    `insert into credentials (application_id, credential_hash, voucher_id) values ($1, $2, $4), ($1, $3, $4)
     on conflict do nothing`,
    [
      applicationId,
      indexCredential(index, 'redeem_code', redeemCode.replaceAll('-', '')),
      indexCredential(index, 'qr_token', qrToken),
      voucherId,
    ],
  )
  if (inserted === 2) return true
  yield* run('delete from credentials where application_id = $1 and voucher_id = $2', [applicationId, voucherId])
  return false
}

function* voucherById(applicationId: string, id: string): Op<VoucherRow | undefined> {
  return yield* one<VoucherRow>('select * from vouchers where application_id = $1 and id = $2', [applicationId, id])
}

/** No join: where the tables are divided by application, its plan for all values would read all of an application. */
const BY_CREDENTIAL = `from vouchers v where v.application_id = $1 and v.id = (
  select c.voucher_id from credentials c where c.application_id = $1 and c.credential_hash = $2)`

/** @param hashes of one credential, one for each index key */
function* redeemableByCredential(applicationId: string, hashes: readonly string[]): Op<RedeemableVoucher | undefined> {
  for (const hash of hashes) {
    const row = yield* one<RedeemableVoucher>(
      `select v.id, v.template_id, v.external_issue_id, v.recipient_user_id, v.state, v.valid_from, v.valid_until,
         v.code_hint, v.redeemed_at, v.redemption_id
       ${BY_CREDENTIAL}`,
      [applicationId, hash],
      { rowOf: 'v' },
    )
    if (row !== undefined) return row
  }
  return undefined
}

/** Looks at a voucher; writes nothing. */
export function* verify(
  applicationId: string,
  hashes: readonly string[],
  recipientUserId: string | undefined,
  now: number,
  faces: Faces = new Map(),
): Op<{ ok: true; data: Verification } | Refusal<'VOUCHER_NOT_FOUND'>> {
  for (const hash of hashes) {
    const row = yield* one<ShownVoucher>(
      `select v.application_id, v.id, v.template_id, v.external_issue_id, v.recipient_user_id, v.state, v.valid_from,
         v.valid_until, v.code_hint, v.channel, v.bot_id, v.issued_at, v.redeemed_at, v.redemption_id, v.metadata,
         v.updated_at
       ${BY_CREDENTIAL}`,
      [applicationId, hash],
    )
    if (row === undefined) continue
    const reason = obstacleOf(row, now, recipientUserId)
    const voucher = voucherRecord(row, yield* faceOf(faces, applicationId, row.template_id), now)
    return { ok: true, data: { redeemable: reason === null, reason, voucher, checkedAt: formatInstant(now) } }
  }
  return refuse('VOUCHER_NOT_FOUND')
}

export interface Redeem {
  readonly applicationId: string
  readonly hashes: readonly string[]
  readonly credentialType: RedemptionRow['credential_type']
  readonly recipientUserId?: string | undefined
  readonly reference?: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly claim: IdempotencyClaim
  readonly redemptionId: string
  readonly newDeliveryId: () => string
  readonly now: number
}

export function* redeem(
  call: Redeem,
): Op<Answered<Redemption> | RedeemRefusal | Refusal<'IDEMPOTENCY_KEY_REUSED' | 'VOUCHER_NOT_FOUND'>> {
  const { applicationId, claim, now } = call
  const [before, voucher] = yield* together(redeemedUnderKey(call), redeemableByCredential(applicationId, call.hashes))
  if (before !== null) return before
  if (voucher === undefined) return refuse('VOUCHER_NOT_FOUND')
  const refusal = refuseRedeem(voucher, now, call.recipientUserId)
  if (refusal !== null) return (yield* redeemedUnderKey(call)) ?? refusal

  const row: RedemptionRow = {
    application_id: applicationId,
    id: call.redemptionId,
    voucher_id: voucher.id,
    template_id: voucher.template_id,
    external_issue_id: voucher.external_issue_id,
    recipient_user_id: voucher.recipient_user_id,
    credential_type: call.credentialType,
    reference: call.reference ?? null,
    metadata: JSON.stringify(call.metadata),
    redeemed_at: now,
    reversed_at: null,
    reversal_reason: null,
  }
  const data = redemptionRecord(row, { ...voucher, state: 'redeemed' }, now)
  const metadata = Object.keys(call.metadata).length === 0 ? null : call.metadata
  yield* together(
    run(
      `insert into redemptions (application_id, id, voucher_id, template_id, external_issue_id, recipient_user_id,
         credential_type, reference, metadata, redeemed_at, reversed_at, reversal_reason)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, null, null)`,
      [
        row.application_id,
        row.id,
        row.voucher_id,
        row.template_id,
        row.external_issue_id,
        row.recipient_user_id,
        row.credential_type,
        row.reference,
        row.metadata,
        row.redeemed_at,
      ],
    ),
    run(
      `update vouchers set state = 'redeemed', redeemed_at = $3, redemption_id = $4, updated_at = $3
       where application_id = $1 and id = $2`,
      [applicationId, voucher.id, now, row.id],
    ),
    remember(applicationId, claim, { status: 200, subjectId: row.id, data: metadata }, now, null),
    tellLinkedBots(applicationId, 'voucher_redeemed', () => ({ redemption: data }), call),
  )
  return { ok: true, status: 200, replayed: false, data }
}

/** The answer of an earlier call under the same key; null when there is none. */
function* redeemedUnderKey({
  applicationId,
  claim,
  now,
}: Redeem): Op<Answered<Redemption> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  const replay = yield* replayOf<Readonly<Record<string, string>>>(applicationId, claim, now)
  if (replay === null || 'ok' in replay) return replay
  return yield* redeemedBefore(applicationId, replay)
}

/** The answer of an earlier call under the same key, of which the metadata alone are kept. */
function* redeemedBefore(
  applicationId: string,
  replay: Replay<Readonly<Record<string, string>>>,
): Op<Answered<Redemption>> {
  const row = (yield* redemptionById(applicationId, replay.subjectId)) as RedemptionRow
  const voucher = (yield* voucherById(applicationId, row.voucher_id)) as VoucherRow
  return {
    ok: true,
    status: replay.status,
    replayed: true,
    data: redemptionRecordAtRedeem(row, voucher, replay.data ?? {}),
  }
}

function* redemptionById(applicationId: string, redemptionId: string, lock?: RowLock): Op<RedemptionRow | undefined> {
  return yield* one<RedemptionRow>(
    'select * from redemptions where application_id = $1 and id = $2',
    [applicationId, redemptionId],
    lock,
  )
}

export function* redemption(
  applicationId: string,
  redemptionId: string,
  now: number,
): Op<Redemption | Refusal<'REDEMPTION_NOT_FOUND'>> {
  const row = yield* redemptionById(applicationId, redemptionId)
  if (row === undefined) return refuse('REDEMPTION_NOT_FOUND')
  return redemptionRecord(row, (yield* voucherById(applicationId, row.voucher_id)) as VoucherRow, now)
}

export interface Reverse {
  readonly applicationId: string
  readonly redemptionId: string
  readonly reason?: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly claim: IdempotencyClaim
  readonly newDeliveryId: () => string
  readonly now: number
}

/** The voucher is issued again, or reads expired; a later redemption of it is not touched. */
export function* reverse(
  call: Reverse,
): Op<
  | Answered<Redemption>
  | Refusal<
      'IDEMPOTENCY_KEY_REUSED' | 'REDEMPTION_NOT_FOUND' | 'REDEMPTION_ALREADY_REVERSED' | 'REVERSAL_WINDOW_CLOSED'
    >
> {
  const { applicationId, claim, now } = call
  const before = yield* reversedUnderKey(call)
  if (before !== null) return before

  const found = yield* redemptionById(applicationId, call.redemptionId, 'row')
  if (found === undefined) return refuse('REDEMPTION_NOT_FOUND')
  const refusal = refuseReverse(found, now)
  if (refusal !== null) return (yield* reversedUnderKey(call)) ?? refusal

  const row: RedemptionRow = {
    ...found,
    reversed_at: now,
    reversal_reason: call.reason ?? null,
    metadata: JSON.stringify({ ...JSON.parse(found.metadata), ...call.metadata }),
  }
  yield* run(
    `update redemptions set reversed_at = $3, reversal_reason = $4, metadata = $5
     where application_id = $1 and id = $2`,
    [applicationId, row.id, row.reversed_at, row.reversal_reason, row.metadata],
  )
  yield* run(
    `update vouchers set state = 'issued', redeemed_at = null, redemption_id = null, updated_at = $4
     where application_id = $1 and id = $2 and redemption_id = $3`,
    [applicationId, row.voucher_id, row.id, now],
  )
  const voucher = (yield* voucherById(applicationId, row.voucher_id)) as VoucherRow
  const data = redemptionRecord(row, voucher, now)
  yield* remember(applicationId, claim, { status: 200, subjectId: row.id, data }, now, now + IDEMPOTENCY_LIFETIME_MS)
  yield* tellLinkedBots(applicationId, 'voucher_reversed', () => ({ redemption: data }), call)
  return { ok: true, status: 200, replayed: false, data }
}

function* reversedUnderKey({
  applicationId,
  claim,
  now,
}: Reverse): Op<Answered<Redemption> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  const replay = yield* replayOf<Redemption>(applicationId, claim, now)
  if (replay === null || 'ok' in replay) return replay
  return { ok: true, status: replay.status, replayed: true, data: replay.data as Redemption }
}
