import type { CallLog } from './call-log.js'
import { readStored, type Stored } from './stored.js'

function* countBy<T>(rows: readonly T[], keyOf: (row: T) => string): Generator<[string, number]> {
  const counts = new Map<string, number>()
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1)
  yield* counts
}

const byId = <T extends { id: string }>(rows: readonly T[]) => new Map(rows.map((row) => [row.id, row]))

/** Violations of invariants that hold for every database, whatever calls were made. */
export function breachesIn(stored: Stored): string[] {
  const found: string[] = []
  const vouchers = byId(stored.vouchers)
  const live = stored.redemptions.filter((it) => it.reversed_at === null)
  const liveVoucherOf = new Map(live.map((it) => [it.id, it.voucher_id]))
  const livePerVoucher = new Map(countBy(live, (it) => it.voucher_id))
  const perTemplate = new Map(countBy(stored.vouchers, (it) => it.template_id))
  const redeemKeys = new Map(
    countBy(
      stored.keys.filter((it) => it.expires_at === null),
      (it) => it.subject_id,
    ),
  )
  const otherKeys = new Map(
    countBy(
      stored.keys.filter((it) => it.expires_at !== null),
      (it) => it.subject_id,
    ),
  )

  if (stored.integrity !== 'ok') found.push(`integrity_check: ${stored.integrity}`)
  for (const { id, issue_limit, issued_count } of stored.templates) {
    const made = perTemplate.get(id) ?? 0
    if (issued_count !== made) found.push(`template ${id} counts ${issued_count} issued and has ${made} vouchers`)
    if (made > issue_limit) found.push(`template ${id} has ${made} vouchers, more than its limit ${issue_limit}`)
  }
  for (const { id, state, redemption_id } of stored.vouchers) {
    const lives = livePerVoucher.get(id) ?? 0
    if (lives !== (state === 'redeemed' ? 1 : 0)) found.push(`voucher ${id} is ${state} with ${lives} live redemptions`)
    if (state === 'redeemed' && liveVoucherOf.get(redemption_id ?? '') !== id) {
      found.push(`voucher ${id} names redemption ${redemption_id}, which is not its live one`)
    }
  }
  for (const { id, voucher_id, reversed_at } of stored.redemptions) {
    if (!vouchers.has(voucher_id)) found.push(`redemption ${id} is of no voucher`)
    const keys = redeemKeys.get(id) ?? 0
    if (keys !== 1) found.push(`redemption ${id} has ${keys} keys of a redeem, not 1`)
    const reversals = otherKeys.get(id) ?? 0
    if (reversals !== (reversed_at === null ? 0 : 1)) {
      found.push(
        `redemption ${id} has ${reversals} keys of a reversal and is ${reversed_at === null ? '' : 'not '}live`,
      )
    }
  }
  return found
}

/** Compares stored data with received responses; returns effects that are lost, duplicated or not requested. */
export function differences(
  callLog: Pick<CallLog, 'wrongResponses' | 'acknowledged' | 'entries'>,
  stored: Stored,
): string[] {
  const found = [...callLog.wrongResponses()]
  const keys = new Map(stored.keys.map((it) => [it.idempotency_key, it.subject_id]))
  const vouchers = byId(stored.vouchers)
  const redemptions = byId(stored.redemptions)
  for (const { key, action, input, acknowledged } of callLog.acknowledged()) {
    const { id, voucherId } = acknowledged.data
    const lost = (what: string) => found.push(`acknowledged ${action} ${key}: ${what}`)
    if (keys.get(key) !== id) lost(`its key names ${keys.get(key) ?? 'nothing'}, not ${id}`)
    if (action === 'issue') {
      const voucher = vouchers.get(id)
      if (voucher === undefined) lost(`voucher ${id} is lost`)
      else if (voucher.external_issue_id !== input.external_issue_id) lost(`voucher ${id} is another issue's`)
    } else {
      const redemption = redemptions.get(id)
      if (redemption === undefined) lost(`redemption ${id} is lost`)
      else if (redemption.voucher_id !== voucherId) lost(`redemption ${id} is of another voucher`)
      else if (action === 'reverse' && redemption.reversed_at === null) lost(`the reversal of ${id} is lost`)
    }
  }
  const asked = new Set(callLog.entries().map(({ key }) => key))
  const askedIssues = new Set(callLog.entries().map(({ input }) => input.external_issue_id))
  for (const [key, subject] of keys) {
    const isOfLoad = vouchers.has(subject) || redemptions.has(subject)
    if (isOfLoad && !asked.has(key)) found.push(`nobody sent the key ${key}`)
  }
  for (const { id, external_issue_id: issue } of stored.vouchers) {
    if (!askedIssues.has(issue)) found.push(`nobody asked for voucher ${id}`)
  }
  return found
}

/** Violations in the data folder of an ended server, also of what clients received. @param folder for a copy of the files */
export function breachesOf(dataDir: string, folder: string, callLog: CallLog): string[] {
  const stored = readStored(dataDir, folder)
  return [...breachesIn(stored), ...differences(callLog, stored)]
}
