import type { ValidationIssue } from '../../contract/envelope.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import { DAY_MS } from '../../contract/values/duration.js'
import type { Credential } from '../../contract/vouchers.js'
import { indexCredential, parseCredential } from '../../domain/credentials.js'
import type { Keyring } from '../../domain/keyring.js'
import { requireKeysOfVouchers } from '../../store/keys.js'
import type { TemplateSummaries } from '../../store/template-summary.js'
import * as vouchers from '../../store/vouchers.js'
import type { Deps } from '../deps.js'
import type { MakeHandlers } from '../handler.js'
import type { Caller } from '../http/exchange.js'

const EXPECTED = {
  redeem_code: 'must be a redeem code of 16 symbols, such as M9S3-46Q3-D25V-T4FJ',
  qr_token: 'must be a QR token: VQ1- and 33 symbols',
}

export function credentialIssues({ credential }: { credential: Credential }): ValidationIssue[] {
  const parsed = parseCredential(credential.type, credential.value)
  if (parsed.ok || parsed.reason === 'check_failed') return []
  return [{ pointer: '/credential/value', code: 'format', message: EXPECTED[credential.type] }]
}

/** Hashes a credential; no hashes if the check symbol is wrong, because no voucher has such a credential. */
export function hashCredential({ type, value }: Credential, keys: Keyring): vouchers.HashedCredential {
  const parsed = parseCredential(type, value)
  return { type, hashes: parsed.ok ? keys.all.map((key) => indexCredential(key.index, type, parsed.normalised)) : [] }
}

/** Refuses an unknown credential, and limits guesses that have a correct check symbol. */
async function unknownCredential(
  { limits, store, keys }: Deps,
  caller: Caller,
  wellFormed: boolean,
): Promise<Refusal<'VOUCHER_NOT_FOUND' | 'CREDENTIAL_ATTEMPTS_EXCEEDED'>> {
  if (!wellFormed) return refuse('VOUCHER_NOT_FOUND', { credential_check: 'failed' })
  const verdict = limits.take('credential_failures', caller.applicationId)
  if (verdict?.allowed === false) {
    return { ...refuse('CREDENTIAL_ATTEMPTS_EXCEEDED'), retryAfterSeconds: verdict.resetSeconds }
  }
  // After the limit: without the key of another process this reads the vouchers of the application.
  await store.read(() => requireKeysOfVouchers(keys, caller.applicationId))
  return refuse('VOUCHER_NOT_FOUND')
}

export const voucherHandlers: MakeHandlers<'vouchers'> = (deps, { read }) => {
  const { store, clock, newId, keys } = deps
  const { reversalWindowDays: reversalDays } = deps.differences
  const summaries: TemplateSummaries = new Map()
  const newDeliveryId = () => newId('dlv')
  return {
    issue: (input, { caller, requestId, idempotencyKey }) => {
      const voucherId = newId('vch')
      const { applicationId } = caller
      return store.write(
        () =>
          vouchers.issue({
            applicationId,
            templateId: input.template_id,
            externalIssueId: input.external_issue_id,
            recipientUserId: input.recipient_user_id,
            metadata: input.metadata ?? {},
            idempotencyKey,
            voucherId,
            newDeliveryId,
            requestId,
            calledBy: caller.calledBy,
            now: clock.now(),
            keys,
            summaries,
          }),
        vouchers.issueGroup(applicationId, input.template_id, input.external_issue_id),
      )
    },

    verify: {
      check: credentialIssues,
      handle: async (input, { caller }) => {
        const credential = hashCredential(input.credential, keys)
        const verified = await store.read(() =>
          vouchers.verify(caller.applicationId, credential, input.recipient_user_id, clock.now(), summaries),
        )
        return verified.ok ? verified : unknownCredential(deps, caller, credential.hashes.length > 0)
      },
    },

    redeem: {
      check: credentialIssues,
      handle: async (input, { caller, requestId, idempotencyKey }) => {
        const credential = hashCredential(input.credential, keys)
        const redemptionId = newId('rdm')
        const { applicationId } = caller
        const redeemed = await store.write(
          () =>
            vouchers.redeem({
              applicationId,
              credential,
              recipientUserId: input.recipient_user_id,
              reference: input.reference,
              metadata: input.metadata ?? {},
              idempotencyKey,
              redemptionId,
              newDeliveryId,
              requestId,
              calledBy: caller.calledBy,
              now: clock.now(),
            }),
          vouchers.redeemGroup(applicationId, credential),
        )
        if (redeemed.ok || redeemed.code !== 'VOUCHER_NOT_FOUND')
          return redeemed as Exclude<typeof redeemed, Refusal<'VOUCHER_NOT_FOUND'>>
        return unknownCredential(deps, caller, credential.hashes.length > 0)
      },
    },

    redemption: ({ redemptionId }, { caller }) =>
      read(() => vouchers.redemption(caller.applicationId, redemptionId, clock.now())),

    reverse: ({ redemptionId, reason, metadata }, { caller, requestId, idempotencyKey }) =>
      store.write(() =>
        vouchers.reverse({
          applicationId: caller.applicationId,
          redemptionId,
          reason,
          metadata: metadata ?? {},
          idempotencyKey,
          newDeliveryId,
          requestId,
          calledBy: caller.calledBy,
          windowMs: reversalDays === undefined ? undefined : reversalDays * DAY_MS,
          now: clock.now(),
        }),
      ),
  }
}
