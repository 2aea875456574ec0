import { templateBody } from '../../../src/contract/openapi/template-body.js'
import { makeToken } from '../../../src/domain/tokens.js'
import type { Seed } from '../../../src/server/seed/schema.js'

/** A token of a fixed value with a valid checksum. */
const fixedToken = (prefix: 'sop_' | 'sbot_', byte: number) =>
  makeToken(prefix, (size) => new Uint8Array(size).fill(byte))

export const seedToken = fixedToken('sop_', 11)
export const seedBotToken = fixedToken('sbot_', 12)

/** A seed with a record of each kind. */
export const seed: Seed = {
  account: 'acme',
  applications: [
    {
      id: 'app_coffee',
      name: 'Coffee shop',
      tokens: [
        {
          id: 'tok_till',
          name: 'till',
          token: seedToken,
          scopes: ['vouchers:read', 'vouchers:issue', 'vouchers:verify', 'vouchers:redeem'],
        },
      ],
      templates: [
        { ...templateBody, id: 'tpl_coffee' },
        { ...templateBody, id: 'tpl_tea', external_template_id: 'tea-1', status: 'draft' },
      ],
    },
  ],
  bots: [
    {
      id: 'bot_coffee',
      name: 'Coffee bot',
      username: 'coffee_bot',
      scopes: ['vouchers:issue', 'messages:send', 'messages:receive'],
      application_id: 'app_coffee',
      token: seedBotToken,
    },
    { id: 'bot_new', name: 'New bot', username: 'new_bot', review_status: 'pending' },
  ],
}
