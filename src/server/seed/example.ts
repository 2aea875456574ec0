import { botScopes, scopes } from '../../contract/endpoint.js'
import { templateBody } from '../../contract/openapi/template-body.js'
import { updateTypes } from '../../contract/updates.js'
import { makeToken } from '../../domain/tokens.js'
import type { Deps } from '../deps.js'
import type { Seed } from './schema.js'

/**
 * Returns the example for an empty store: a shop with a token and an active template, and its bot with a token,
 * which gets every type of update.
 */
export function exampleSeed({ newId, random }: Pick<Deps, 'newId' | 'random'>): Seed {
  const applicationId = newId('app')
  return {
    account: 'demo',
    applications: [
      {
        id: applicationId,
        name: 'Coffee shop',
        tokens: [{ id: newId('tok'), name: 'example', token: makeToken('sop_', random), scopes: [...scopes] }],
        templates: [
          {
            ...templateBody,
            ...{ id: newId('tpl'), external_template_id: 'coffee', type: 'exchange', issue_limit: 100 },
          },
        ],
      },
    ],
    bots: [
      {
        id: newId('bot'),
        name: 'Coffee bot',
        username: 'coffee_bot',
        application_id: applicationId,
        scopes: [...botScopes],
        allowed_updates: [...updateTypes],
        token: makeToken('sbot_', random),
      },
    ],
  }
}
