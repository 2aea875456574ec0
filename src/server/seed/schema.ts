import { apps } from '../../contract/apps.js'
import { bots } from '../../contract/bots.js'
import { input, oneOf } from '../../contract/fields.js'
import { faultInput } from '../../contract/platform/controls.js'
import { platform } from '../../contract/platform/platform.js'
import { type Static, Type } from '../../contract/schema.js'
import { templateInput } from '../../contract/templates.js'
import { tokens } from '../../contract/tokens.js'
import { allowedUpdates } from '../../contract/updates.js'
import { vouchers } from '../../contract/vouchers.js'
import { ACTIVE_TOKENS_PER_APPLICATION } from '../../domain/application.js'
import type { IdPrefix } from '../../domain/ids.js'

const id = (prefix: IdPrefix) =>
  Type.String({
    pattern: `^${prefix}_[0-9A-Za-z_-]{1,40}$`,
    'x-expected': `${prefix}_ and 1 to 40 of A-Z a-z 0-9 _ -`,
  })

const { accountId: account } = platform.issueAccountToken.params.properties

const token = input({ id: id('tok'), token: Type.String(), ...tokens.create.body.properties })

const template = input({
  id: id('tpl'),
  status: Type.Optional(oneOf(['draft', 'reviewing', 'active'])),
  ...templateInput.properties,
})

const voucher = input({
  status: Type.Optional(oneOf(['issued', 'redeemed', 'reversed', 'expired'])),
  ...vouchers.issue.body.properties,
})

const application = input({
  id: id('app'),
  account: Type.Optional(account),
  status: Type.Optional(oneOf(['active', 'disabled'])),
  tokens: Type.Optional(Type.Array(token, { maxItems: ACTIVE_TOKENS_PER_APPLICATION })),
  templates: Type.Optional(Type.Array(template)),
  vouchers: Type.Optional(Type.Array(voucher)),
  ...apps.create.body.properties,
})

const bot = input({
  id: id('bot'),
  account: Type.Optional(account),
  review_status: Type.Optional(oneOf(['pending', 'approved'])),
  application_id: Type.Optional(Type.String()),
  token: Type.Optional(Type.String()),
  allowed_updates: Type.Optional(allowedUpdates),
  ...bots.apply.body.properties,
})

/** Content of a seed file: what a store holds before the first call (rules/server.md#seeds). */
export const seedSchema = input({
  account,
  applications: Type.Optional(Type.Array(application)),
  bots: Type.Optional(Type.Array(bot)),
  faults: Type.Optional(Type.Array(faultInput, { maxItems: 1000 })),
})
export type Seed = Static<typeof seedSchema>
export type SeedApplication = Static<typeof application>
export type SeedTemplate = Static<typeof template>
export type SeedVoucher = Static<typeof voucher>
export type SeedBot = Static<typeof bot>
