import { botScopes, scopes } from '../../contract/endpoint.js'
import { exampleOf } from '../../contract/schema.js'
import { templateInput } from '../../contract/templates.js'
import { updateTypes } from '../../contract/updates.js'
import { makeToken } from '../../domain/tokens.js'
import type { Deps } from '../deps.js'
import type { Seed } from './schema.js'

/** The highest one, which no load test reaches. */
const ISSUE_LIMIT = 1_000_000_000

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
            ...exampleOf(templateInput),
            ...{ id: newId('tpl'), external_template_id: 'coffee', type: 'exchange', issue_limit: ISSUE_LIMIT },
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
