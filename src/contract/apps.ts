import { byAccount, del, get, group, patch, post, put } from './endpoint.js'
import { ids, input, instant, nullable, oneOf, page, pageQuery, text } from './fields.js'
import { type Static, Type } from './schema.js'

const botUsername = Type.String({ example: 'coffee_bot' })

/** Application record (rules/callers.md#applications). */
export const application = Type.Object({
  id: ids.appId,
  name: Type.String({ example: 'Coffee shop' }),
  description: nullable(Type.String(), 'Vouchers of the shop in Main Street'),
  status: oneOf(['active', 'disabled', 'suspended']),
  features: Type.Array(oneOf(['vouchers'])),
  allowedOrigins: Type.Array(Type.String({ example: '*' })),
  secureTransport: oneOf(['optional', 'required']),
  linkedBots: Type.Array(Type.Object({ botId: ids.botId, username: botUsername, linkedAt: instant })),
  createdAt: instant,
  updatedAt: instant,
})
export type Application = Static<typeof application>

const settings = {
  description: Type.Optional(text(0, 500, 'Vouchers of the shop in Main Street')),
  allowed_origins: Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^(\\*|https?://[a-z0-9.\\[\\]:-]{1,255})$',
        'x-expected': '* or a full origin such as https://shop.example',
      }),
      { minItems: 1, maxItems: 50 },
    ),
  ),
  secure_transport: Type.Optional(oneOf(['optional', 'required'])),
}

export const apps = group('apps', {
  list: get('/api/v1/open-platform/applications', {
    summary: 'List the applications of the account',
    ...byAccount,
    query: input(pageQuery),
    output: page(application),
  }),

  create: post('/api/v1/open-platform/applications', {
    summary: 'Create an application',
    ...byAccount,
    body: input({ name: text(1, 100, 'Coffee shop'), ...settings }),
    status: 201,
    output: application,
    failures: ['APPLICATION_LIMIT_REACHED'],
  }),

  get: get('/api/v1/open-platform/applications/:appId', {
    summary: 'Read an application',
    ...byAccount,
    output: application,
    failures: ['APPLICATION_NOT_FOUND'],
  }),

  update: patch('/api/v1/open-platform/applications/:appId', {
    summary: 'Change an application',
    leadsTo: ['APPLICATION_DISABLED'],
    ...byAccount,
    body: input(
      { name: Type.Optional(text(1, 100)), ...settings, status: Type.Optional(oneOf(['active', 'disabled'])) },
      { example: { secure_transport: 'optional' } },
    ),
    output: application,
    failures: ['APPLICATION_NOT_FOUND'],
  }),

  linkBot: put('/api/v1/open-platform/applications/:appId/bots/:botId', {
    summary: 'Link a bot, so that it can deliver vouchers of the application',
    accepts: ['active'],
    ...byAccount,
    output: application,
    failures: ['APPLICATION_NOT_FOUND', 'BOT_NOT_FOUND', 'BOT_NOT_APPROVED', 'BOT_ALREADY_LINKED'],
  }),

  unlinkBot: del('/api/v1/open-platform/applications/:appId/bots/:botId', {
    summary: 'Unlink a bot; templates, vouchers and tokens stay',
    irreversible: {
      action: 'Unlinking',
      loses: 'The bot can no longer issue vouchers of the application and gets no updates about them.',
    },
    ...byAccount,
    output: application,
    failures: ['APPLICATION_NOT_FOUND', 'BOT_NOT_FOUND'],
  }),
})
