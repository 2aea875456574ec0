import type { CredentialType, InputOf } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type {
  Credential,
  vouchers as contract,
  IssuedVoucher,
  Redemption,
  Verification,
  Voucher,
} from '../contract/vouchers.js'
import { codeHint, deriveCredential, indexCredential } from '../domain/credentials.js'
import type { IdempotencyKey } from '../domain/idempotency.js'
import { type CredentialKey, type Keyring, keyOf } from '../domain/keyring.js'
import { formatInstant } from '../domain/time.js'
import {
  type CallSource,
  decideIssue,
  type IssueCall,
  type IssueRefusal,
  type IssuingTemplate,
  newVoucher,
  obstacleOf,
  publicVoucherColumns,
  type RedeemableVoucher,
  type RedeemRefusal,
  type RedemptionRow,
  type Reversal,
  redemptionRecord,
  redemptionRecordAtRedeem,
  refuseRedeem,
  refuseReverse,
  type VoucherRow,
  voucherRecord,
  voucherRecordAtIssue,
} from '../domain/voucher.js'
import { findReplay, saveRecord } from './idempotency.js'
import { inserting, interleave, type Op, one, type RowLock, run, updating } from './operation.js'
import { notifyLinkedBots } from './outbox.js'
import { type Select, selecting, selectingColumns } from './select.js'
import type { GroupCommit } from './store.js'
import { type TemplateSummaries, templateSummary } from './template-summary.js'

/** A success that may be a replay of an earlier response. */
export interface ReplayableSuccess<Data> {
  readonly ok: true
  readonly status: 200 | 201
  readonly replayed: boolean
  readonly data: Data
}

export interface Issue extends IssueCall {
  readonly newDeliveryId: () => string
  readonly keys: Keyring
  readonly summaries?: TemplateSummaries
}

/**
 * Group commit for issues of one template, which all update its quota row: one transaction locks the row once. If the
 * issues exceed the quota, a table check rolls the transaction back, and each issue runs alone.
 */
export function issueGroup(applicationId: string, templateId: string, externalIssueId: string): GroupCommit {
  return { group: `issue ${applicationId} ${templateId}`, conflictKey: externalIssueId }
}

/**
 * Group commit for redeems of one application, in two groups: one runs while the other waits for the disk. If two
 * redeems name one voucher by code and by QR token, the index redemptions_in_force rolls the transaction back.
 */
export function redeemGroup(applicationId: string, { hashes: [hash] }: HashedCredential): GroupCommit | undefined {
  if (hash === undefined) return undefined
  return { group: `redeem ${applicationId} ${hash.charCodeAt(0) % 2}`, conflictKey: hash }
}

export type IssueResult = ReplayableSuccess<IssuedVoucher> | IssueRefusal | Refusal<'IDEMPOTENCY_KEY_REUSED'>

export function* issue(call: Issue): Op<IssueResult> {
  const [before, template] = yield* interleave(replayIssue(call), issuingTemplate(call.applicationId, call.template_id))
  return before ?? (yield* issueFrom(template, call))
}

/** Replays an issue from its idempotency record; null if there is no record. */
export function* replayIssue(
  call: Pick<Issue, 'applicationId' | 'idempotencyKey' | 'keys' | 'now' | 'summaries'>,
): Op<ReplayableSuccess<IssuedVoucher> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  const replay = yield* findReplay<Voucher>(call)
  if (replay === null || 'ok' in replay) return replay
  const { applicationId, keys, summaries = new Map() } = call
  const row = (yield* voucherById(applicationId, replay.subjectId)) as VoucherRow
  const data =
    replay.data ?? voucherRecordAtIssue(row, yield* templateSummary(summaries, applicationId, row.template_id))
  return { ok: true, status: replay.status, replayed: true, data: { ...data, credentials: credentialsOf(row, keys) } }
}

/** Issues a voucher for a call that is known to have no idempotency record. */
export function* issueNow(call: Issue): Op<IssueResult> {
  return yield* issueFrom(yield* issuingTemplate(call.applicationId, call.template_id), call)
}

function* issueFrom(template: IssuingTemplate | undefined, call: Issue): Op<IssueResult> {
  const { applicationId, keys, now, summaries = new Map() } = call
  const decision = decideIssue(template, undefined, call, now)
  const made = decision.ok && decision.existing === null ? yield* insertVoucher(call, decision) : null
  if (made?.credentials) {
    const summary = yield* templateSummary(summaries, applicationId, call.template_id)
    const voucher = voucherRecord(made.row, summary, now)
    const success = { status: 201 as const, subjectId: made.row.id, data: null }
    yield* interleave(
      countIssued(call),
      saveRecord(call, success),
      notifyLinkedBots(applicationId, 'voucher_issued', () => ({ voucher }), call),
    )
    return { ok: true, status: 201, replayed: false, data: { ...voucher, credentials: made.credentials } }
  }

  // Without a new voucher, either the voucher of the external_issue_id exists, or the issue is refused.
  const existing = made?.row ?? (yield* voucherByExternalId(call))
  const repeat = decideIssue(template, existing, call, now)
  if (!repeat.ok) return repeat
  const row = existing as VoucherRow
  const data = voucherRecord(row, yield* templateSummary(summaries, applicationId, call.template_id), now)
  yield* saveRecord(call, { status: 200, subjectId: row.id, data })
  return { ok: true, status: 200, replayed: true, data: { ...data, credentials: credentialsOf(row, keys) } }
}

const ISSUING_TEMPLATE = selecting<IssuingTemplate>()(
  'select status, validity, issue_limit, issued_count from templates where application_id = $1 and id = $2',
)

function* issuingTemplate(applicationId: string, id: string): Op<IssuingTemplate | undefined> {
  return yield* one(ISSUING_TEMPLATE, [applicationId, id], 'row')
}

type Credentials = [redeemCode: Credential, qrToken: Credential]

/** Maximum of attempts to derive unused credentials: this many collisions in a row mean a bug. */
const ATTEMPTS_MAX = 8

/** Derives the credentials of a voucher; the table holds only their hashes. */
export function credentialsOf(row: Pick<VoucherRow, 'id' | 'key_id' | 'key_counter'>, keys: Keyring): Credentials {
  return deriveCredentials(keyOf(keys, row.key_id), row.id, row.key_counter)
}

function deriveCredentials({ derive }: CredentialKey, voucherId: string, counter: number): Credentials {
  return [
    { type: 'redeem_code', value: deriveCredential(derive, voucherId, 'redeem_code', counter) },
    { type: 'qr_token', value: deriveCredential(derive, voucherId, 'qr_token', counter) },
  ]
}

const insert = inserting<VoucherRow>('vouchers', 'on conflict do nothing')
const saveReversal = updating<Reversal & Pick<RedemptionRow, 'application_id' | 'id'>, never>()(
  'redemptions',
  ['application_id', 'id'],
  ['reversed_at', 'reversal_reason', 'reverse_request_id', 'reverse_idempotency_key', 'reversed_by', 'metadata'],
)

/** Inserts a voucher; returns null credentials with an existing voucher of the same external_issue_id. */
function* insertVoucher(
  call: Issue,
  window: { validFrom: number; validUntil: number },
): Op<{ row: VoucherRow; credentials: Credentials | null }> {
  const { voucherId } = call
  const key = call.keys.current
  for (let counter = 0; counter < ATTEMPTS_MAX; counter++) {
    const credentials = deriveCredentials(key, voucherId, counter)
    const row = newVoucher(call, window, {
      code_hint: codeHint(credentials[0].value),
      key_id: key.id,
      key_counter: counter,
      ...hashesOf(credentials, key.index),
    })
    if ((yield* insert(row)) === 1) return { row, credentials }
    const existing = yield* voucherByExternalId(call)
    if (existing !== undefined) return { row: existing, credentials: null }
    // Another voucher has the same hash of a credential: derive new credentials.
  }
  throw new Error(`no credentials were free for ${voucherId}`)
}

function countIssued({ applicationId, template_id }: Issue): Op<number> {
  return run('update templates set issued_count = issued_count + 1 where application_id = $1 and id = $2', [
    applicationId,
    template_id,
  ])
}

function hashesOf(
  [redeemCode, qrToken]: Credentials,
  index: Uint8Array,
): Pick<VoucherRow, 'redeem_code_hash' | 'qr_token_hash'> {
  return {
    redeem_code_hash: indexCredential(index, 'redeem_code', redeemCode.value.replaceAll('-', '')),
    qr_token_hash: indexCredential(index, 'qr_token', qrToken.value),
  }
}

function voucherByExternalId({ applicationId, template_id, external_issue_id }: Issue): Op<VoucherRow | undefined> {
  return one<VoucherRow>(
    'select * from vouchers where application_id = $1 and template_id = $2 and external_issue_id = $3',
    [applicationId, template_id, external_issue_id],
  )
}

function* voucherById(applicationId: string, id: string): Op<VoucherRow | undefined> {
  return yield* one<VoucherRow>('select * from vouchers where application_id = $1 and id = $2', [applicationId, id])
}

/** Statements that find a voucher by credential: $1 is the application, $2 the hash. */
type ByType<Sql> = Readonly<Record<CredentialType, Sql>>

function byType<Sql>(statement: (hash: string) => Sql): ByType<Sql> {
  return { redeem_code: statement('redeem_code_hash'), qr_token: statement('qr_token_hash') }
}

const SHOWN = byType((hash) =>
  selectingColumns<VoucherRow>()(publicVoucherColumns, `vouchers where application_id = $1 and ${hash} = $2`),
)

/** A credential with its possible hashes, one for each credential key. */
export interface HashedCredential {
  readonly type: CredentialType
  readonly hashes: readonly string[]
}

function* voucherByCredential<Row>(
  applicationId: string,
  { type, hashes }: HashedCredential,
  statements: ByType<Select<Row>>,
  lock?: RowLock,
): Op<Row | undefined> {
  for (const hash of hashes) {
    const row = yield* one(statements[type], [applicationId, hash], lock)
    if (row !== undefined) return row
  }
  return undefined
}

/** Checks whether a voucher can be redeemed, without changing anything (rules/vouchers.md#verify). */
export function* verify(
  applicationId: string,
  credential: HashedCredential,
  recipientUserId: string | undefined,
  now: number,
  summaries: TemplateSummaries = new Map(),
): Op<{ ok: true; data: Verification } | Refusal<'VOUCHER_NOT_FOUND'>> {
  const row = yield* voucherByCredential(applicationId, credential, SHOWN)
  if (row === undefined) return refuse('VOUCHER_NOT_FOUND')
  const reason = obstacleOf(row, now, recipientUserId)
  const voucher = voucherRecord(row, yield* templateSummary(summaries, applicationId, row.template_id), now)
  return { ok: true, data: { redeemable: reason === null, reason, voucher, checkedAt: formatInstant(now) } }
}

export interface Redeem extends CallSource, Omit<InputOf<typeof contract.redeem>, 'credential'> {
  readonly applicationId: string
  readonly credential: HashedCredential
  readonly idempotencyKey: IdempotencyKey
  readonly redemptionId: string
  readonly newDeliveryId: () => string
  readonly now: number
}

const REDEEMABLE = byType((hash) =>
  selecting<RedeemableVoucher & { hash: string }>()(
    `select ${hash} as hash, id, template_id, external_issue_id, recipient_user_id, state, valid_from, valid_until,
       code_hint, redeemed_at, redemption_id
     from vouchers where application_id = $1 and ${hash} = $2`,
  ),
)
/** Redeems a voucher found by its credential hash: unlike the index by id, this index is already in the cache. */
const REDEEMED = byType(
  (hash) =>
    `update vouchers set state = 'redeemed', redeemed_at = $3, redemption_id = $4, updated_at = $3
     where application_id = $1 and ${hash} = $2`,
)
const insertRedemption = inserting<RedemptionRow>('redemptions')

export function* redeem(
  call: Redeem,
): Op<ReplayableSuccess<Redemption> | RedeemRefusal | Refusal<'IDEMPOTENCY_KEY_REUSED' | 'VOUCHER_NOT_FOUND'>> {
  const { applicationId, metadata: given = {}, now } = call
  const [before, voucher] = yield* interleave(
    replayRedeem(call),
    voucherByCredential(applicationId, call.credential, REDEEMABLE, 'row'),
  )
  if (before !== null) return before
  if (voucher === undefined) return refuse('VOUCHER_NOT_FOUND')
  const refusal = refuseRedeem(voucher, now, call.recipient_user_id)
  if (refusal !== null) return (yield* replayRedeem(call)) ?? { ...refusal, voucherId: voucher.id }

  const row: RedemptionRow = {
    application_id: applicationId,
    id: call.redemptionId,
    voucher_id: voucher.id,
    template_id: voucher.template_id,
    external_issue_id: voucher.external_issue_id,
    recipient_user_id: voucher.recipient_user_id,
    credential_type: call.credential.type,
    reference: call.reference ?? null,
    metadata: JSON.stringify(given),
    redeemed_at: now,
    redeem_request_id: call.requestId,
    redeem_idempotency_key: call.idempotencyKey.value,
    redeemed_by: call.calledBy,
    reversed_at: null,
    reversal_reason: null,
    reverse_request_id: null,
    reverse_idempotency_key: null,
    reversed_by: null,
  }
  const data = redemptionRecord(row, { ...voucher, state: 'redeemed' }, now)
  const metadata = Object.keys(given).length === 0 ? null : given
  yield* interleave(
    insertRedemption(row),
    run(REDEEMED[call.credential.type], [applicationId, voucher.hash, now, row.id]),
    saveRecord(call, { status: 200, subjectId: row.id, data: metadata }, null),
    notifyLinkedBots(applicationId, 'voucher_redeemed', () => ({ redemption: data }), call),
  )
  return { ok: true, status: 200, replayed: false, data }
}

function* replayRedeem(call: Redeem): Op<ReplayableSuccess<Redemption> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  const replay = yield* findReplay<Readonly<Record<string, string>>>(call)
  if (replay === null || 'ok' in replay) return replay
  const { applicationId } = call
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

export interface Reverse extends CallSource, InputOf<typeof contract.reverse> {
  readonly applicationId: string
  readonly idempotencyKey: IdempotencyKey
  readonly newDeliveryId: () => string
  readonly now: number
}

/** Reverses a redemption. Returns the voucher to `issued`, unless a later redemption has used it. */
export function* reverse(
  call: Reverse,
): Op<
  | ReplayableSuccess<Redemption>
  | Refusal<
      'IDEMPOTENCY_KEY_REUSED' | 'REDEMPTION_NOT_FOUND' | 'REDEMPTION_ALREADY_REVERSED' | 'REVERSAL_WINDOW_CLOSED'
    >
> {
  const { applicationId, now } = call
  const before = yield* replayReverse(call)
  if (before !== null) return before

  const found = yield* redemptionById(applicationId, call.redemptionId, 'row')
  if (found === undefined) return refuse('REDEMPTION_NOT_FOUND')
  const refusal = refuseReverse(found, now)
  if (refusal !== null) return (yield* replayReverse(call)) ?? { ...refusal, voucherId: found.voucher_id }

  const row: RedemptionRow = {
    ...found,
    reversed_at: now,
    reversal_reason: call.reason ?? null,
    reverse_request_id: call.requestId,
    reverse_idempotency_key: call.idempotencyKey.value,
    reversed_by: call.calledBy,
    metadata: JSON.stringify({ ...JSON.parse(found.metadata), ...call.metadata }),
  }
  yield* saveReversal(row)
  yield* run(
    `update vouchers set state = 'issued', redeemed_at = null, redemption_id = null, updated_at = $4
     where application_id = $1 and id = $2 and redemption_id = $3`,
    [applicationId, row.voucher_id, row.id, now],
  )
  const voucher = (yield* voucherById(applicationId, row.voucher_id)) as VoucherRow
  const data = redemptionRecord(row, voucher, now)
  yield* saveRecord(call, { status: 200, subjectId: row.id, data })
  yield* notifyLinkedBots(applicationId, 'voucher_reversed', () => ({ redemption: data }), call)
  return { ok: true, status: 200, replayed: false, data }
}

function* replayReverse(call: Reverse): Op<ReplayableSuccess<Redemption> | Refusal<'IDEMPOTENCY_KEY_REUSED'> | null> {
  const replay = yield* findReplay<Redemption>(call)
  if (replay === null || 'ok' in replay) return replay
  return { ok: true, status: replay.status, replayed: true, data: replay.data as Redemption }
}
