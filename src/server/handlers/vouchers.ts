import type { ValidationIssue } from '../../contract/envelope.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import { hideForms } from '../../contract/secrets.js'
import type { Credential } from '../../contract/vouchers.js'
import { indexCredential, parseCredential } from '../../domain/credentials.js'
import type { Keyring } from '../../domain/keyring.js'
import { formatInstant, parseInstant } from '../../domain/time.js'
import type { LoggedCall } from '../../domain/voucher-history.js'
import { requireKeysOfVouchers } from '../../store/keys.js'
import type { TemplateSummaries } from '../../store/template-summary.js'
import * as voucherHistory from '../../store/voucher-history.js'
import * as vouchers from '../../store/vouchers.js'
import { mapTexts } from '../../values/json.js'
import type { Deps } from '../deps.js'
import { invalid, type MakeHandlers, type MakeSome } from '../handler.js'
import type { Caller } from '../http/api-call.js'
import type { LoggedVoucherCall } from '../observe/request-log.js'

const EXPECTED = {
  redeem_code: 'must be a redeem code of 16 symbols, such as M9S3-46Q3-D25V-T4FJ',
  qr_token: 'must be a QR token: VQ1- and 33 symbols',
}

function credentialIssues({ credential }: { credential: Credential }): ValidationIssue[] {
  const parsed = parseCredential(credential.type, credential.value)
  if (parsed.ok || parsed.reason === 'check_failed') return []
  return [{ pointer: '/credential/value', code: 'format', message: EXPECTED[credential.type] }]
}

/** Hashes a credential; no hashes if the check symbol is wrong, because no voucher has such a credential. */
export function hashCredential({ type, value }: Credential, keys: Keyring): vouchers.HashedCredential {
  const parsed = parseCredential(type, value)
  return { type, hashes: parsed.ok ? keys.all.map((key) => indexCredential(key.index, type, parsed.normalised)) : [] }
}

/** Refuses an unknown credential, and limits guesses with a correct check symbol. */
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
  // After the limit, because without the key of another process this reads the vouchers of the application.
  await store.read(() => requireKeysOfVouchers(keys, caller.applicationId))
  return refuse('VOUCHER_NOT_FOUND')
}

export const voucherHandlers: MakeHandlers<'vouchers'> = (deps, { read }) => {
  const { store, clock, newId, keys } = deps
  const summaries: TemplateSummaries = new Map()
  const newDeliveryId = () => newId('dlv')
  return {
    issue: (input, { facts }) => {
      const voucherId = newId('vch')
      return store.write(
        () =>
          vouchers.issue({
            ...input,
            ...facts,
            voucherId,
            newDeliveryId,
            now: clock.now(),
            keys,
            summaries,
          }),
        vouchers.issueGroup(facts.applicationId, input.template_id, input.external_issue_id),
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
      handle: async (input, { caller, facts }) => {
        const credential = hashCredential(input.credential, keys)
        const redemptionId = newId('rdm')
        const redeemed = await store.write(
          () =>
            vouchers.redeem({
              ...input,
              ...facts,
              credential,
              redemptionId,
              newDeliveryId,
              now: clock.now(),
            }),
          vouchers.redeemGroup(facts.applicationId, credential),
        )
        if (redeemed.ok || redeemed.code !== 'VOUCHER_NOT_FOUND') return redeemed
        return unknownCredential(deps, caller, credential.hashes.length > 0)
      },
    },

    redemption: ({ redemptionId }, { caller }) =>
      read(() => vouchers.redemption(caller.applicationId, redemptionId, clock.now())),

    reverse: (input, { facts }) =>
      store.write(() => vouchers.reverse({ ...input, ...facts, newDeliveryId, now: clock.now() })),
  }
}

/** Vouchers in the operator API (rules/operator.md#voucher-history). */
export const voucherHistoryHandlers = (({ store, clock, keys, requestLog }, { read }) => {
  const loggedCalls = (voucherId: string) => requestLog.ofVoucher(voucherId).flatMap(loggedCall)
  const show = async (wanted: { readonly id: string } | vouchers.HashedCredential) => {
    const now = clock.now()
    const found = await store.read(() => voucherHistory.history(wanted, loggedCalls, now))
    if (!found.ok) return found
    const times = {
      now: formatInstant(now),
      log_since: requestLog.since(now),
      server_started_at: formatInstant(requestLog.startedAt),
    }
    return { ok: true, data: { ...shown(found.data), ...times } } as const
  }
  return {
    vouchers: async ({ since, ...filter }) => {
      const from = since === undefined ? undefined : parseInstant(since)
      if (from === null) return invalid({ pointer: '/since', code: 'format', message: 'is not a time that exists' })
      return shown(await read(() => voucherHistory.list({ ...filter, since: from }, clock.now())))
    },
    voucher: ({ voucherId }) => show({ id: voucherId }),
    findVoucher: {
      check: credentialIssues,
      handle: async ({ credential }) => {
        const hashed = hashCredential(credential, keys)
        if (hashed.hashes.length === 0) return refuse('VOUCHER_NOT_FOUND', { credential_check: 'failed' })
        const found = await show(hashed)
        if (!found.ok) await store.read(() => requireKeysOfVouchers(keys))
        return found
      },
    },
  }
}) satisfies MakeSome<'platform'>

/** Hides credentials that applications wrote into keys, references and ids (rules/operator.md#shown-credentials). */
export const shown = <Record extends object>(it: Record) => mapTexts(it, hideForms) as Record

/** Calls that are in no row, with the type of their event. */
const unstored: Readonly<Record<string, LoggedCall['type']>> = {
  'vouchers.verify': 'verified',
  'platform.showCredentials': 'shown',
}

/** Verifications, shown codes and replays of the request log; the store has all other calls. */
function loggedCall({ entry, voucher }: LoggedVoucherCall): LoggedCall[] {
  const type = unstored[entry.endpoint ?? '']
  if (type === undefined && !entry.replayed) return []
  return [
    {
      type: type ?? 'replayed',
      at: entry.time,
      endpoint: entry.endpoint,
      requestId: entry.request_id,
      ...voucher,
    },
  ]
}
