import { refuse } from '../../contract/errors.js'
import { mapTexts } from '../../contract/values/map-texts.js'
import { hideForms } from '../../contract/values/secrets.js'
import { formatInstant, parseInstant } from '../../domain/time.js'
import type { LoggedCall } from '../../domain/voucher-history.js'
import { requireKeysOfVouchers } from '../../store/keys.js'
import * as vouchers from '../../store/voucher-history.js'
import type { HashedCredential } from '../../store/vouchers.js'
import { invalid, type MakeHandlers } from '../handler.js'
import type { LoggedVoucherCall } from '../observe/request-log.js'
import { credentialIssues, hashCredential } from './vouchers.js'

/** Vouchers in the operator API (DECISIONS.md#voucher-history). */
export const voucherHistoryHandlers: MakeHandlers<'platform', 'vouchers' | 'voucher' | 'findVoucher'> = (
  { store, clock, keys, requestLog },
  { read },
) => {
  const loggedCalls = (voucherId: string) => requestLog.ofVoucher(voucherId).flatMap(loggedCall)
  const show = async (wanted: { readonly id: string } | HashedCredential) => {
    const now = clock.now()
    const found = await store.read(() => vouchers.history(wanted, loggedCalls, now))
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
      return shown(await read(() => vouchers.list({ ...filter, since: from }, clock.now())))
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
}

/** Hides credentials that applications wrote into keys, references and ids (DECISIONS.md#shown-credentials). */
const shown = <Record extends object>(it: Record) => mapTexts(it, hideForms) as Record

/** Verifications and replays; the store holds all other calls. */
function loggedCall({ entry, voucher }: LoggedVoucherCall): LoggedCall[] {
  const isVerified = entry.endpoint === 'vouchers.verify'
  if (!isVerified && !entry.replayed) return []
  return [
    {
      type: isVerified ? 'verified' : 'replayed',
      at: entry.time,
      endpoint: entry.endpoint,
      requestId: entry.request_id,
      ...voucher,
    },
  ]
}
