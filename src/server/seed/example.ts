import { botScopes, scopes } from '../../contract/endpoint.js'
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
            id: newId('tpl'),
            external_template_id: 'coffee',
            name: 'One free coffee',
            type: 'exchange',
            issuer_name: 'Coffee shop',
            fulfiller_name: 'Coffee shop',
            fulfillment_category: 'offline_service',
            acquisition_source: 'free_claim',
            validity: { type: 'relative', duration_days: 30 },
            issue_limit: 100,
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
