import { botScopes, scopes } from '../contract/endpoint.js'
import { templateBody } from '../contract/openapi/template-body.js'
import { updateTypes } from '../contract/updates.js'
import type { Seed } from '../server/seed/schema.js'

/** What a server holds unless the options name a seed: an application that can issue and redeem, and its bot. */
export const defaultSeed: Seed = {
  account: 'acme',
  applications: [
    {
      id: 'app_shop',
      name: 'Shop',
      tokens: [
        { id: 'tok_shop', name: 'shop', token: 'sop_TokenOfTheShopInTests00000000041iuWD', scopes: [...scopes] },
      ],
      templates: [{ ...templateBody, id: 'tpl_coffee', external_template_id: 'coffee', issue_limit: 100_000 }],
    },
  ],
  bots: [
    {
      id: 'bot_shop',
      name: 'Shop bot',
      username: 'shop_bot',
      scopes: [...botScopes],
      application_id: 'app_shop',
      token: 'sbot_TokenOfTheBotInTests00000000001WcpfD',
      allowed_updates: [...updateTypes],
    },
  ],
}
