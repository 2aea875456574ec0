import { type Endpoint, membersOf, pathParameters } from '../../../../src/contract/endpoint.js'
import type { Random } from '../../../faults/random.js'
import { DAY_MS } from '../../../support/server/app.js'
import { HOOK_URL } from '../../../support/server/webhooks.js'
import type { KnownObjects } from './known-objects.js'

/** What the values of a call depend on. */
interface InputContext {
  readonly random: Random
  readonly known: KnownObjects
  readonly now: number
  /** Account of the caller; undefined for the operator. */
  readonly accountId: string | undefined
  /** Application of the caller, or the one that the call concerns. */
  readonly appId: string | undefined
  /** Calling bot, or the one that the call concerns. */
  readonly botId: string | undefined
}

type Value = (context: InputContext, schema: Schema) => unknown

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minLength?: number
  readonly maxLength?: number
}

/** Probability of an optional member. */
const OPTIONAL = 0.25

const TEXTS = [
  'Free coffee',
  'caf\u00e9 \u{1f39f} \u540d',
  `quotes ' " \\ and %_?`,
  '  spaces  ',
  'null',
  '\u00df\ufffd\u{10ffff}',
]

const around = ({ random, now }: InputContext, days: readonly number[]) =>
  new Date(now + random.pick(days) * DAY_MS + random.between(-1, 1)).toISOString()

function validity(context: InputContext): object {
  const { random } = context
  if (random.chance(0.3)) {
    return { type: 'fixed', starts_at: around(context, [-10, 0, 2]), ends_at: around(context, [1, 20, 90]) }
  }
  return {
    type: 'relative',
    duration_days: random.pick([1, 7, 30, 400]),
    ...(random.chance(0.3) ? { delay_days: random.pick([0, 1, 30]) } : {}),
    ...(random.chance(0.3) ? { not_after: around(context, [0, 20, 200]) } : {}),
  }
}

/** Values of members by name: related ids, and few enough different values that calls meet the same objects. */
const values: Readonly<Record<string, Value>> = {
  appId: ({ known, random, accountId }) => known.id('app', random, accountId),
  application_id: ({ known, random }) => known.id('app', random),
  botId: ({ botId, known, random, accountId }) => botId ?? known.id('bot', random, accountId),
  bot_id: ({ known, random, accountId }) => known.id('bot', random, accountId),
  tokenId: ({ known, random, appId }) => known.id('tok', random, appId),
  templateId: ({ known, random, appId }) => known.id('tpl', random, appId),
  template_id: ({ known, random, appId }) => known.id('tpl', random, appId),
  voucherId: ({ known, random, appId }) => known.id('vch', random, appId),
  redemptionId: ({ known, random, appId }) => known.id('rdm', random, appId),
  chatId: ({ known, random, botId }) => known.id('chat', random, botId),
  chat_id: ({ known, random, botId }) => known.id('chat', random, botId),
  deliveryId: ({ known, random, botId }) =>
    random.chance(0.1) ? String(random.below(20)) : known.id('dlv', random, botId),
  faultId: ({ known, random }) => known.id('flt', random),
  accountId: ({ random }) => random.pick(accounts),
  credential: ({ known, random, appId }) =>
    JSON.parse(known.find('credential', random, random.chance(0.06) ? undefined : appId) ?? UNKNOWN_CREDENTIAL),
  external_issue_id: ({ random }) => `issue-${random.below(40)}`,
  external_template_id: ({ random }) => `template-${random.below(30)}`,
  recipient_user_id: ({ random }) => random.pick(users),
  user_id: ({ random }) => random.pick(users),
  username: ({ random }) => `bot_${random.below(30)}`,
  validity,
  issue_limit: ({ random }) => random.pick([1, 2, 3, 20, 1_000]),
  features: ({ random }) => (random.chance(0.9) ? ['vouchers'] : []),
  secure_transport: ({ random }) => (random.chance(0.9) ? 'optional' : 'required'),
  allowed_origins: ({ random }) => (random.chance(0.8) ? ['*'] : ['https://shop.example']),
  url: ({ random }) =>
    random.chance(0.85) ? `${HOOK_URL}/${random.below(3)}` : random.pick(['http://a', 'https://10.0.0.1/']),
  allowed_ips: () => [],
  timeout: () => 0,
  page: ({ random }) => random.pick([1, 1, 1, 2, 3]),
  limit: ({ random }) => random.pick([1, 2, 5, 100]),
  offset: ({ random, known, botId = '' }) =>
    random.chance(0.5) ? (known.offsets.get(botId) ?? 1) : random.between(-3, 12),
  seconds: ({ random }) => random.pick([1, 60, 3_600, 86_400]),
  expires_in_seconds: () => 31_536_000,
  expires_in_days: ({ random }) => random.pick([null, null, 1, 365]),
  until: (context) => around(context, [1, 30, 100]),
  from: (context) => around(context, [-30, -1]),
  since: (context) => around(context, [-30, 0]),
  name: ({ random }, { maxLength }) => (maxLength === undefined ? `snapshot-${random.below(3)}` : random.pick(TEXTS)),
  code: () => 'UNCLEAR',
  type: ({ random }, schema) => (schema.enum === undefined ? 'exchange' : random.pick(schema.enum)),
  acquisition_source: () => 'free_claim',
  reference: ({ random }) => `order-${random.below(9)}`,
  secret_token: ({ random }) => `secret-${random.below(3)}`,
  metadata: ({ random }) => random.pick([{}, { order: '7' }, { '\u043a\u043b\u044e\u0447': TEXTS[1], b: '', a: '{}' }]),
  payload: ({ random }) => random.pick([{}, { from: { id: 'user-1' } }, { from: { id: 'user-2' }, query: 'tea' }]),
  avatar: () => 'https://shop.example/a.png',
  cover_url: () => null,
  follow: () => 'false',
  endpoint: ({ random }) =>
    random.pick(['vouchers.issue', 'vouchers.redeem', 'bots.updates', 'apps.list', 'apps.none']),
  kind: ({ random }, schema) =>
    schema.enum?.includes('drop_response') ? random.pick(['error', 'delay']) : random.pick(schema.enum ?? []),
  times: ({ random }) => random.between(1, 2),
  delay_ms: () => 0,
  body: () => Buffer.from('{"update_id":1}').toString('base64'),
  command: ({ random }) => random.pick(['start', '/help']),
  email: () => 'shop@example.com',
  phone: () => '+1 555 0100',
  text: ({ random }) => random.pick([...TEXTS, 'two\nlines\r\n\tand a tab']),
}

export const accounts = ['account-1', 'account-2', 'account-3']
const users = ['user-1', 'user-2', 'user-3', 'User-1']
const UNKNOWN_CREDENTIAL = '{"type":"redeem_code","value":"0000-0000-0000-0000"}'

/** Members that are always sent, because the call tests little without them. */
const ALWAYS = new Set(['expires_in_seconds', 'times', 'delay_ms'])

/** Returns an input of path parameters, query members and body members, mostly one that succeeds. */
export function randomInput(endpoint: Endpoint, context: InputContext): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  const params = membersOf(endpoint.params)
  for (const name of pathParameters(endpoint.path)) input[name] = valueOf(name, params[name] as Schema, context)
  for (const part of [endpoint.query, endpoint.body]) {
    Object.assign(input, objectOf((part ?? {}) as Schema, context))
  }
  if (endpoint.id === 'apps.update' && input.status !== undefined && context.random.chance(0.85))
    input.status = 'active'
  if (endpoint.id === 'platform.setClock') input.now = new Date(context.now + 60_000).toISOString()
  return input
}

function objectOf({ properties = {}, required = [] }: Schema, context: InputContext): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(properties)) {
    if (!required.includes(name) && !ALWAYS.has(name) && !context.random.chance(OPTIONAL)) continue
    members[name] = valueOf(name, schema, context)
  }
  return members
}

function valueOf(name: string, schema: Schema, context: InputContext): unknown {
  const { random } = context
  const special = values[name]
  if (special !== undefined) return special(context, schema)
  if (schema.enum !== undefined) return random.pick(schema.enum)
  switch ([schema.type].flat()[0]) {
    case 'boolean':
      return random.chance(0.5)
    case 'integer':
    case 'number':
      return random.between(schema.minimum ?? 0, Math.min(schema.maximum ?? 100, (schema.minimum ?? 0) + 20))
    case 'array': {
      const all = schema.items?.enum
      if (all === undefined) return [valueOf('', schema.items ?? {}, context)]
      const some = random.chance(0.8) ? all : all.filter(() => random.chance(0.6))
      return some.length >= (schema.minItems ?? 0) ? some : all
    }
    case 'object':
      return objectOf(schema, context)
    default:
      return random.pick(TEXTS).slice(0, schema.maxLength)
  }
}
