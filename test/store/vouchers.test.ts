import { describe, expect, it } from 'vitest'
import { deleteExpiredRecords, findReplay, saveRecord } from '../../src/store/idempotency.js'
import { type Op, type Step, Superseded } from '../../src/store/operation.js'
import { type Issue, issueGroup, issueNow, redeem, redeemGroup, redemption, reverse } from '../../src/store/vouchers.js'
import { testKey } from '../support/server/app.js'
import { templateRow } from '../support/store/rows.js'
import { statementsOf } from '../support/store/store-steps.js'

/** Tests of statements without an engine: SQLite ignores locks, and collisions of credentials never happen. */

const call = {
  applicationId: 'app_1',
  idempotencyKey: { value: 'key', fingerprint: 'print' },
  metadata: {},
  newDeliveryId: () => 'dlv_1',
  requestId: 'req_1',
  calledBy: 'tok_1',
  now: 1_000,
}
const issueCall: Issue = {
  ...call,
  template_id: 'tpl_1',
  external_issue_id: 'order-1',
  recipient_user_id: 'user-1',
  voucherId: 'vch_1',
  keys: { current: testKey, all: [testKey] },
}
const credential = { type: 'redeem_code', hashes: ['hash'] } as const

/** The locks of the statements of one step. */
const locksOf = (step: IteratorResult<Step, unknown>) => statementsOf(step.value as Step).map((it) => it.lock)

describe('locks of operations on vouchers', () => {
  it('issue locks the template, whose quota it reads', { tags: 'templates/1' }, () => {
    expect(locksOf(issueNow(issueCall).next())).toEqual(['row'])
  })

  it('redeem locks the voucher, not the idempotency record', { tags: 'redemptions/1' }, () => {
    expect(locksOf(redeem({ ...call, credential, redemptionId: 'rdm_1' }).next())).toEqual([undefined, 'row'])
  })

  it('reverse locks the redemption after it looks for its idempotency record', { tags: 'reversal/1' }, () => {
    const op = reverse({ ...call, redemptionId: 'rdm_1' })
    expect(locksOf(op.next())).toEqual([undefined])
    expect(locksOf(op.next(undefined))).toEqual(['row'])
  })

  it('deletion of expired idempotency records skips rows that another process has locked', () => {
    expect(locksOf(deleteExpiredRecords(0, 10).next())).toEqual(['skip'])
  })
})

describe('group commit of operations on vouchers', () => {
  it('issues of one template share a transaction unless they have the same external id', () => {
    expect(issueGroup('app_1', 'tpl_1', 'order-1')).toEqual({ group: 'issue app_1 tpl_1', conflictKey: 'order-1' })
  })

  it('redeems of an application share two transactions unless they name the same credential', () => {
    const groupOf = (...hashes: string[]) => redeemGroup('app_1', { type: 'redeem_code', hashes })
    expect(groupOf('b', 'other')).toEqual({ group: 'redeem app_1 0', conflictKey: 'b' })
    expect(groupOf('a')).toEqual({ group: 'redeem app_1 1', conflictKey: 'a' })
    expect(groupOf()).toBeUndefined()
  })
})

describe('collision of credentials', () => {
  it('issue derives other credentials after a collision, and fails after the eighth', () => {
    const op: Op<unknown> = issueNow(issueCall)
    const inserted: unknown[] = []
    const derive = () => {
      let step = op.next()
      for (;;) {
        const [statement] = statementsOf(step.value as Step)
        if (statement?.sql.startsWith('insert into vouchers')) {
          inserted.push(statement.params.find((it) => String(it).length === 43))
          step = op.next(0)
        } else {
          step = op.next(statement?.sql.includes('from templates') ? templateRow() : undefined)
        }
      }
    }
    expect(derive).toThrow(new Error('no credentials were free for vch_1'))
    expect(inserted).toHaveLength(8)
    expect(new Set(inserted).size).toBe(8)
  })
})

describe('idempotency record of a call', () => {
  const success = { status: 200, subjectId: 'vch_1', data: null } as const

  it('call without an idempotency key neither looks for a record nor saves one', () => {
    const withoutKey = { ...call, idempotencyKey: undefined }
    expect(findReplay(withoutKey).next()).toEqual({ done: true, value: null })
    expect(saveRecord(withoutKey, success).next()).toEqual({ done: true, value: undefined })
  })

  it('record that another call with the same key has saved first supersedes the call', () => {
    const saving = saveRecord(call, success)
    expect(statementsOf(saving.next().value as Step)).toHaveLength(1)
    expect(() => saving.next(0)).toThrow(Superseded)
  })
})

it('unknown redemption is refused as not found', () => {
  const reading = redemption('app_1', 'rdm_1', 0)
  reading.next()
  expect(reading.next(undefined)).toEqual({ done: true, value: { ok: false, code: 'REDEMPTION_NOT_FOUND' } })
})
