import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/store/sqlite/engine.js'
import { ApiResponse } from '../support/server/client.js'
import { standaloneServer, temporaryFolder } from '../support/server/server.js'
import { newTenant } from '../support/server/tenant.js'
import { CallLog } from './call-log.js'
import { clerks, send } from './clients.js'
import { breachesIn, differences } from './invariants.js'
import { Random } from './random.js'
import { readStored } from './stored.js'

let folder: string
let dataDir: string
let callLog: CallLog

/** Makes logged calls of every kind at a server and closes the server. */
beforeAll(async () => {
  folder = temporaryFolder()
  dataDir = join(folder, 'data')
  callLog = new CallLog(join(folder, 'acknowledged.ndjson'))
  const server = await standaloneServer({ dataDir })
  const tenant = await newTenant(server)
  const { id } = await tenant.template()
  let calls = 0
  const shouldContinue = () => calls < 60
  const onResponse = () => {
    calls += 1
  }
  const random = new Random('checker')
  await clerks(4, { tenant, callLog, random, name: 'c', templateIds: [id], shouldContinue, onResponse })
  // Whether the clients leave a voucher without a redemption depends on the order of their last calls.
  const kept = { template_id: id, external_issue_id: 'kept', recipient_user_id: 'user-1' }
  await send(tenant, callLog, callLog.open('issue-kept', 'issue', kept))
  await server.close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Applies SQL to a copy of the database; returns the violations that the invariant checker finds in the copy. */
function found(sql = ''): string[] {
  const copy = mkdtempSync(join(folder, 'changed-'))
  copyFileSync(join(dataDir, 'voucherctl.db'), join(copy, 'voucherctl.db'))
  const db = openDatabase(join(copy, 'voucherctl.db'))
  db.exec(sql)
  db.close()
  const stored = readStored(copy, folder)
  return [...breachesIn(stored), ...differences(callLog, stored)]
}

const LIVE = 'select id from redemptions where reversed_at is null limit 1'
const REVERSED = 'select id from redemptions where reversed_at is not null limit 1'

describe('invariant checker', () => {
  it('invariant checker finds no violation in an undamaged database after calls of every kind', () => {
    expect(found()).toEqual([])
    expect(new Set(callLog.acknowledged().map(({ action }) => action))).toEqual(new Set(['issue', 'redeem', 'reverse']))
    expect(callLog.unresolved()).toEqual([])
  })

  it.each<[string, string, RegExp]>([
    [
      'a redemption lost with its idempotency record',
      `update vouchers set state = 'issued', redemption_id = null, redeemed_at = null where redemption_id = (${LIVE});
       delete from idempotency_keys where subject_id = (${LIVE});
       delete from redemptions where id = (${LIVE})`,
      /^acknowledged redeem .*: redemption rdm_\w+ is lost$/,
    ],
    [
      'a voucher lost with its idempotency record',
      `create temp table gone as select id, template_id from vouchers where state = 'issued' and id not in
         (select voucher_id from redemptions) limit 1;
       delete from vouchers where id in (select id from gone);
       delete from idempotency_keys where subject_id in (select id from gone);
       update templates set issued_count = issued_count - 1 where id in (select template_id from gone)`,
      /^acknowledged issue .*: voucher vch_\w+ is lost$/,
    ],
    [
      'a lost reversal',
      `update redemptions set reversed_at = null where id = (${REVERSED})`,
      /^acknowledged reverse .*: the reversal of rdm_\w+ is lost$/,
    ],
    [
      'a voucher with two live redemptions',
      `insert into redemptions select application_id, id || 'x', voucher_id, template_id, external_issue_id,
         recipient_user_id, credential_type, reference, metadata, redeemed_at, redeem_request_id,
         redeem_idempotency_key, redeemed_by, null, null, null, null, null from redemptions
         where id = (${LIVE})`,
      /^voucher \w+ is redeemed with 2 live redemptions$/,
    ],
    [
      'a redemption without an idempotency record',
      `delete from idempotency_keys where subject_id = (${LIVE}) and expires_at is null`,
      /^redemption \w+ has 0 keys of a redeem, not 1$/,
    ],
    [
      'a redeemed voucher in the state issued',
      `update vouchers set state = 'issued', redemption_id = null where redemption_id = (${LIVE})`,
      /^voucher \w+ is issued with 1 live redemptions$/,
    ],
    [
      'an issued_count that is one too low',
      'update templates set issued_count = issued_count - 1',
      /^template \w+ counts \d+ issued and has \d+ vouchers$/,
    ],
    [
      'a voucher that no client issued',
      `insert into vouchers select application_id, id || 'x', template_id, 'nobody', recipient_user_id, 'issued',
         valid_from, valid_until, code_hint, key_id, key_counter, redeem_code_hash || 'x', qr_token_hash || 'x', channel, bot_id, issued_at,
         issue_request_id, issue_idempotency_key, issued_by, null, null, metadata, updated_at from vouchers limit 1`,
      /^nobody asked for voucher \w+$/,
    ],
  ])('invariant checker finds %s', (_what, sql, says) => {
    expect(found(sql)).toContainEqual(expect.stringMatching(says))
  })

  it('invariant checker accepts a call without a response, whether its effect is stored or not', () => {
    const entry = callLog.open('issue-open', 'issue', { external_issue_id: 'open' })
    expect(found()).toEqual([])
    expect(callLog.unresolved()).toEqual([entry])
    callLog.recordResponse(
      entry,
      new ApiResponse(503, {}, JSON.stringify({ success: false, code: 'SERVICE_UNAVAILABLE' })),
    )
    expect(callLog.unresolved()).toEqual([entry])
  })

  it('invariant checker finds a different second response to a call, and a wrong refusal', () => {
    const [entry] = callLog.acknowledged()
    if (entry === undefined) throw new Error('no call was made')
    const response = (status: number, body: object) => new ApiResponse(status, {}, JSON.stringify(body))
    callLog.recordResponse(entry, response(entry.acknowledged.status, { success: true, data: { id: 'another' } }))
    callLog.recordResponse(entry, response(409, { success: false, code: 'VOUCHER_ALREADY_REDEEMED' }))
    expect(found()).toEqual([
      expect.stringContaining(`${entry.key} got 201`),
      expect.stringContaining(`${entry.key} was refused: 409`),
    ])
  })
})
