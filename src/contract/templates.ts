import { get, group, post } from './endpoint.js'
import {
  fulfillmentCategories,
  ids,
  input,
  instant,
  instantInput,
  metadata,
  metadataInput,
  nullable,
  oneOf,
  page,
  pageQuery,
  templateSummary,
  text,
  unique,
} from './fields.js'
import { type Static, Type } from './schema.js'

export const templateStatuses = ['draft', 'reviewing', 'active', 'rejected'] as const

/** Template types that help suggests; the server accepts any lower-case word (rules/vouchers.md#templates). */
export const suggestedTypes = ['exchange', 'amount_off', 'percent_off', 'gift'] as const
export const suggestedSources = [
  'free_claim',
  'campaign_reward',
  'purchase',
  'points_exchange',
  'membership_benefit',
] as const

const externalTemplateId = Type.String({
  pattern: '^[A-Za-z0-9._:-]{1,64}$',
  ...unique('EXTERNAL_TEMPLATE_ID_EXISTS', 64, '-'),
  example: 'coffee-1',
  'x-expected': '1 to 64 of A-Z a-z 0-9 . _ : -',
})

const word = (example: string) =>
  Type.String({
    pattern: '^[a-z][a-z0-9_]{0,63}$',
    'x-expected': 'a lower-case word: a letter, then letters, digits and _, at most 64',
    example,
  })

const validityInput = Type.Union(
  [
    input({ type: Type.Literal('fixed'), starts_at: instantInput, ends_at: instantInput }),
    input({
      type: Type.Literal('relative'),
      duration_days: Type.Integer({ minimum: 1, maximum: 1095 }),
      delay_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 30 })),
      not_after: Type.Optional(instantInput),
    }),
  ],
  { type: 'relative', duration_days: 30 },
)

export const validity = Type.Union(
  [
    Type.Object({ type: Type.Literal('fixed'), startsAt: instant, endsAt: instant }),
    Type.Object({
      type: Type.Literal('relative'),
      durationDays: Type.Integer(),
      delayDays: Type.Integer(),
      notAfter: nullable(instant),
    }),
  ],
  { type: 'relative', durationDays: 30, delayDays: 0, notAfter: null },
)
export type Validity = Static<typeof validity>

/** Template record (rules/vouchers.md#templates). */
export const template = Type.Object({
  id: ids.templateId,
  ...templateSummary,
  acquisitionSource: Type.String({ example: 'free_claim' }),
  validity,
  issueLimit: Type.Integer({ example: 1000 }),
  issuedCount: Type.Integer({ example: 1 }),
  status: oneOf(templateStatuses, 'active'),
  rejectionCode: nullable(Type.String()),
  rejectionReason: nullable(Type.String()),
  submittedAt: nullable(instant),
  reviewedAt: nullable(instant),
  applicationId: nullable(ids.appId),
  botId: nullable(ids.botId, null),
  description: nullable(Type.String()),
  metadata,
  createdAt: instant,
  updatedAt: instant,
})
export type Template = Static<typeof template>

export const templateInput = input({
  external_template_id: externalTemplateId,
  name: text(1, 100, 'One free coffee'),
  type: word('gift'),
  issuer_name: text(1, 100, 'Coffee shop'),
  fulfiller_name: text(1, 100, 'Coffee shop'),
  fulfillment_category: oneOf(fulfillmentCategories, 'offline_service'),
  acquisition_source: word('free_claim'),
  validity: validityInput,
  issue_limit: Type.Integer({ minimum: 1, maximum: 1_000_000_000, example: 1000 }),
  description: Type.Optional(text(0, 500)),
  metadata: Type.Optional(metadataInput),
})
export type TemplateInput = Static<typeof templateInput>

/** A template file (rules/cli.md#template-files). */
export const templateFile = input({ templates: Type.Array(templateInput, { minItems: 1 }) })

export const templates = group('templates', {
  list: get('/api/v1/open-platform/vouchers/templates', {
    summary: 'List the templates of the application',
    caller: 'token',
    scope: 'vouchers:read',
    limit: 'reads',
    query: input({
      ...pageQuery,
      status: Type.Optional(oneOf(templateStatuses)),
      external_template_id: Type.Optional(externalTemplateId),
    }),
    output: page(template),
  }),

  create: post('/api/v1/open-platform/vouchers/templates', {
    summary: 'Create a template as a draft',
    caller: 'token',
    scope: 'vouchers:templates:write',
    limit: 'template_writes',
    body: templateInput,
    status: 201,
    output: template,
    failures: ['EXTERNAL_TEMPLATE_ID_EXISTS'],
  }),

  submit: post('/api/v1/open-platform/vouchers/templates/:templateId/submit', {
    summary: 'Submit a draft or rejected template for review',
    command: 'templates submit :templateId',
    accepts: ['draft', 'rejected'],
    review: 'submits',
    caller: 'token',
    scope: 'vouchers:templates:write',
    limit: 'template_writes',
    output: template,
    failures: ['TEMPLATE_NOT_FOUND', 'TEMPLATE_STATE_CONFLICT', 'EXTERNAL_TEMPLATE_ID_EXISTS'],
  }),
})
