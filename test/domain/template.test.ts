import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { templateBody } from '../../src/contract/openapi/template-body.js'
import { templateStatuses } from '../../src/contract/templates.js'
import {
  decideReview,
  decideSubmit,
  draftTemplate,
  type TemplateRow,
  templateRecord,
} from '../../src/domain/template.js'
import { templateRow } from '../support/store/rows.js'

fc.configureGlobal({ seed: 1 })

const NOW = Date.UTC(2027, 2, 1)
const at = (status: TemplateRow['status']) => templateRow({ status })

describe('draft of a template', () => {
  const validity = { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null } as const

  it('new template is a draft with the members of the input', { tags: 'template-states/1' }, () => {
    const { application_id: _, account_id: __, bot_id: ___, ...draft } = templateRow({ status: 'draft' })
    expect(draftTemplate(templateBody, validity, 'tpl_1', NOW)).toEqual({ ...draft, created_at: NOW, updated_at: NOW })
  })

  it('new template has description and metadata of the input', () =>
    expect(
      draftTemplate({ ...templateBody, description: 'Any size', metadata: { a: '1' } }, validity, 'tpl_1', NOW),
    ).toMatchObject({ description: 'Any size', metadata: '{"a":"1"}' }))
})

describe('submission of a template', () => {
  it.each(['draft', 'rejected'] as const)(
    'submission of a %s template puts it under review and clears the rejection',
    { tags: ['template-states/1', 'template-states/2'] },
    (status) => {
      const before = templateRow({ status, rejection_code: 'X', rejection_reason: 'y', reviewed_at: 1 })
      expect(decideSubmit(before, undefined, NOW)).toEqual({
        ...before,
        status: 'reviewing',
        rejection_code: null,
        rejection_reason: null,
        submitted_at: NOW,
        reviewed_at: null,
        updated_at: NOW,
      })
    },
  )

  it.each(['reviewing', 'active'] as const)(
    'submission of a template in the state %s is refused with that state',
    { tags: ['template-states/1', 'template-states/2'] },
    (status) =>
      expect(decideSubmit(at(status), undefined, NOW)).toEqual({
        ok: false,
        code: 'TEMPLATE_STATE_CONFLICT',
        details: { status },
      }),
  )

  it('submission of a rejected template is refused if another one took its external id', { tags: 'templates/3' }, () =>
    expect(decideSubmit(at('rejected'), { id: 'tpl_other' }, NOW)).toEqual({
      ok: false,
      code: 'EXTERNAL_TEMPLATE_ID_EXISTS',
      details: { template_id: 'tpl_other' },
    }),
  )
})

describe('review of a template', () => {
  it('approval activates a template under review', { tags: 'template-states/1' }, () =>
    expect(decideReview(at('reviewing'), { approve: true }, NOW)).toEqual({
      ...at('reviewing'),
      status: 'active',
      reviewed_at: NOW,
      updated_at: NOW,
    }),
  )

  it('rejection of a template under review stores code and reason', { tags: 'template-states/2' }, () =>
    expect(decideReview(at('reviewing'), { approve: false, code: 'UNCLEAR', reason: 'what is it?' }, NOW)).toEqual({
      ...at('reviewing'),
      status: 'rejected',
      rejection_code: 'UNCLEAR',
      rejection_reason: 'what is it?',
      reviewed_at: NOW,
      updated_at: NOW,
    }),
  )

  it.each(['draft', 'active', 'rejected'] as const)(
    'review decision on a template in the state %s is refused',
    (status) => {
      for (const decision of [{ approve: true }, { approve: false, code: 'A', reason: 'b' }] as const) {
        expect(decideReview(at(status), decision, NOW)).toEqual({
          ok: false,
          code: 'TEMPLATE_STATE_CONFLICT',
          details: { status },
        })
      }
    },
  )
})

it('template changes state only as specified, in any sequence', { tags: ['templates/1', 'template-states/1'] }, () => {
  const edges = ['draft>reviewing', 'reviewing>active', 'reviewing>rejected', 'rejected>reviewing']
  const steps = fc.array(fc.constantFrom('submit', 'approve', 'reject'), { maxLength: 20 })
  fc.assert(
    fc.property(steps, (actions) => {
      let row = at('draft')
      for (const action of actions) {
        const next =
          action === 'submit'
            ? decideSubmit(row, undefined, NOW)
            : decideReview(
                row,
                action === 'approve' ? { approve: true } : { approve: false, code: 'A', reason: 'b' },
                NOW,
              )
        if ('ok' in next) continue
        expect(edges).toContain(`${row.status}>${next.status}`)
        // A template has a rejection code exactly while it is rejected; the next submission clears the code.
        expect(next.rejection_code !== null).toBe(next.status === 'rejected')
        row = next
      }
      expect(templateStatuses).toContain(row.status)
    }),
  )
})

describe('template record', () => {
  it('response for a template has camelCase members, also in validity, and times as text', () => {
    const row = templateRow({ submitted_at: NOW, status: 'reviewing' })
    expect(templateRecord(row)).toEqual({
      id: row.id,
      externalTemplateId: 'coffee-1',
      name: 'One free coffee',
      type: 'gift',
      issuerName: 'Coffee shop',
      fulfillerName: 'Coffee shop',
      fulfillmentCategory: 'offline_service',
      acquisitionSource: 'free_claim',
      validity: { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null },
      issueLimit: 1000,
      issuedCount: 0,
      status: 'reviewing',
      rejectionCode: null,
      rejectionReason: null,
      submittedAt: '2027-03-01T00:00:00.000Z',
      reviewedAt: null,
      applicationId: 'app_1',
      botId: null,
      description: null,
      metadata: {},
      createdAt: '1970-01-01T00:00:00.000Z',
      updatedAt: '1970-01-01T00:00:00.000Z',
    })
  })

  it('response for a template without an application has applicationId null', () =>
    expect(templateRecord(templateRow({ application_id: '' })).applicationId).toBeNull())
})
