import { type Endpoint, scopes } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { Credential } from '../../../src/contract/vouchers.js'
import { seededRandom } from '../../../src/values/seeded-random.js'
import { type Extra, freshKey, type Send, wireOf } from './client.js'
import { templateBody } from './tenant.js'

type Data = Readonly<Record<string, unknown>>
interface TestApplication {
  readonly id: string
  readonly account: string
  readonly tokens: { readonly id: string; readonly token: string }[]
}
interface TestTemplate {
  readonly id: string
  readonly app: TestApplication
}
interface TestVoucher {
  readonly app: TestApplication
  readonly credentials: readonly Credential[]
}
interface SessionBot {
  readonly id: string
  readonly account: string
  token: string | undefined
}

/** One operation of a session. Its `seed` decides what it does, so that others can be removed from the session. */
export interface Operation {
  readonly name: string
  readonly seed: number
}

const ACCOUNTS = ['acme', 'beta']
/** Unusual texts that a program may send. */
const texts = ['Tea', 'null', '${x}', "it's # not: a comment", '日本 ☕', '- item', '%41', 'true', '12']

/** Programs that call a server: what they know, and the random choices of the present operation. */
export class RandomSession {
  readonly #send: Send
  readonly #operatorKey: string
  readonly #jwts = new Map<string, string>()
  readonly apps: TestApplication[] = []
  readonly templates: TestTemplate[] = []
  readonly vouchers: TestVoucher[] = []
  readonly redemptions: { readonly id: string; readonly app: TestApplication }[] = []
  readonly bots: SessionBot[] = []
  readonly chats: { readonly id: string; readonly bot: SessionBot }[] = []
  random = seededRandom(0)

  constructor({ send, operatorKey }: { readonly send: Send; readonly operatorKey: string }) {
    this.#send = send
    this.#operatorKey = operatorKey
  }

  async run({ name, seed }: Operation): Promise<void> {
    this.random = seededRandom(seed)
    await operations[name]?.(this)
  }

  one<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.random() * values.length)] as Value
  }

  happens(share: number): boolean {
    return this.random() < share
  }

  /** Calls an endpoint. Returns the data of a success, otherwise undefined, also for a lost response. */
  async call(endpoint: Endpoint, input: Data, credential?: string, { key }: Extra = {}): Promise<Data | undefined> {
    const wire = wireOf(endpoint, input)
    const authorization = credential ?? (endpoint.caller === 'operator' ? this.#operatorKey : undefined)
    const headers = {
      ...wire.headers,
      ...(authorization === undefined ? {} : { authorization: `Bearer ${authorization}` }),
      ...(endpoint.idempotent ? { 'idempotency-key': key ?? freshKey() } : {}),
    }
    const response = await this.#send({ ...wire, headers }).catch(() => undefined)
    if (response === undefined) return undefined
    const { envelope } = response
    return envelope.success ? (envelope.data as Data) : undefined
  }

  /** Sends a request that the contract may not have. */
  raw(method: string, path: string, credential?: string, body?: string): Promise<unknown> {
    const headers = credential === undefined ? undefined : { authorization: `Bearer ${credential}` }
    return this.#send({ method, path, ...(headers && { headers }), ...(body && { body }) }).catch(() => undefined)
  }

  async jwt(account: string): Promise<string> {
    const known = this.#jwts.get(account)
    if (known !== undefined) return known
    const made = await this.call(contract.platform.issueAccountToken, { accountId: account })
    this.#jwts.set(account, String(made?.jwt))
    return String(made?.jwt)
  }

  forgetLogins(): void {
    this.#jwts.clear()
  }

  /** Returns a random application, and creates the first one. */
  async app(): Promise<TestApplication> {
    return this.apps.length === 0 ? newApp(this) : this.one(this.apps)
  }

  tokenOf(app: TestApplication): string | undefined {
    return app.tokens.length === 0 ? undefined : this.one(app.tokens).token
  }

  /** Returns a random idempotency key: mostly a new one, sometimes one of three that other calls may use. */
  key(): Extra {
    return this.happens(0.25) ? { key: `shared-${this.one([1, 2, 3])}` } : {}
  }
}

async function newApp(session: RandomSession): Promise<TestApplication> {
  const account = session.one(ACCOUNTS)
  const jwt = await session.jwt(account)
  const made = await session.call(contract.apps.create, { name: session.one(texts) }, jwt)
  const app = { id: String(made?.id), account, tokens: [] }
  if (made !== undefined) session.apps.push(app)
  await newToken(session, app, scopes)
  return app
}

async function newToken(session: RandomSession, app: TestApplication, granted: readonly string[]): Promise<void> {
  const jwt = await session.jwt(app.account)
  const input = {
    appId: app.id,
    name: 'till',
    scopes: granted,
    ...(session.happens(0.2) ? { expires_in_days: 1 } : {}),
  }
  const made = await session.call(contract.tokens.create, input, jwt)
  if (made !== undefined) app.tokens.push({ id: String(made.id), token: String(made.token) })
}

async function activeTemplate(session: RandomSession): Promise<void> {
  const app = await session.app()
  const token = session.tokenOf(app)
  const input = {
    ...templateBody({ external_template_id: session.one(['tea', 'coffee', 'cake']), name: session.one(texts) }),
    issue_limit: session.one([1, 2, 50]),
    validity: { type: 'relative', duration_days: session.one([1, 30]) },
  }
  const made = await session.call(contract.templates.create, input, token)
  if (made === undefined) return
  const templateId = String(made.id)
  session.templates.push({ id: templateId, app })
  if (session.happens(0.1)) return
  await session.call(contract.templates.submit, { templateId }, token)
  if (session.happens(0.9)) await session.call(contract.platform.approveTemplate, { templateId })
}

async function issue(session: RandomSession): Promise<void> {
  if (session.templates.length === 0) await activeTemplate(session)
  const template = session.one(session.templates)
  if (template === undefined) return
  const input = {
    template_id: template.id,
    external_issue_id: `order-${session.one([1, 2, 3, 4, 5, 6])}`,
    recipient_user_id: session.one(['user-1', 'user-1', 'user-2']),
    ...(session.happens(0.3) ? { metadata: { [session.one([...texts, 'run', 'my key!'])]: session.one(texts) } } : {}),
  }
  const made = await session.call(contract.vouchers.issue, input, session.tokenOf(template.app), session.key())
  if (made !== undefined)
    session.vouchers.push({ app: template.app, credentials: made.credentials as readonly Credential[] })
}

/** Returns a credential of a voucher, sometimes in another form that is as valid. */
function credentialOf(session: RandomSession, voucher: TestVoucher): Credential {
  const { type, value } = session.one(voucher.credentials)
  if (type !== 'redeem_code' || session.happens(0.7)) return { type, value }
  return { type, value: session.one([value.toLowerCase(), value.replaceAll('-', ' '), value.replaceAll('-', '')]) }
}

async function present(session: RandomSession, endpoint: Endpoint, extra: Extra = {}): Promise<void> {
  const voucher = session.one(session.vouchers)
  if (voucher === undefined) return issue(session)
  const input = {
    credential: credentialOf(session, voucher),
    ...(session.happens(0.2) ? { recipient_user_id: session.one(['user-1', 'user-2']) } : {}),
  }
  const made = await session.call(endpoint, input, session.tokenOf(voucher.app), extra)
  if (made !== undefined && endpoint.id === 'vouchers.redeem')
    session.redemptions.push({ id: String(made.id), app: voucher.app })
}

async function withRedemption(session: RandomSession, endpoint: Endpoint): Promise<void> {
  const redemption = session.one(session.redemptions)
  if (redemption === undefined) return present(session, contract.vouchers.redeem)
  await session.call(endpoint, { redemptionId: redemption.id }, session.tokenOf(redemption.app), session.key())
}

async function newBot(session: RandomSession): Promise<void> {
  const account = session.one(ACCOUNTS)
  const jwt = await session.jwt(account)
  const username = `bot_${session.bots.length + 1}`
  const name = session.one(texts)
  const made = await session.call(
    contract.bots.apply,
    { name, username, scopes: ['messages:send', 'messages:receive', 'vouchers:issue'] },
    jwt,
  )
  if (made === undefined) return
  const botId = String(made.id)
  const bot: SessionBot = { id: botId, account, token: undefined }
  session.bots.push(bot)
  if (session.happens(0.15)) {
    await session.call(contract.platform.rejectBot, { botId, note: 'What is it for?' })
    if (session.happens(0.5)) await session.call(contract.bots.apply, { name, username }, jwt)
  }
  if (session.happens(0.85)) await session.call(contract.platform.approveBot, { botId })
  const record = await session.call(contract.bots.get, { botId }, jwt)
  if (typeof record?.one_time_token === 'string') bot.token = record.one_time_token
  const app = session.apps.find((it) => it.account === account)
  if (app !== undefined) await session.call(contract.apps.linkBot, { appId: app.id, botId }, jwt)
}

async function newChat(session: RandomSession): Promise<void> {
  const bot = session.one(session.bots)
  if (bot === undefined) return newBot(session)
  const made = await session.call(contract.platform.createChat, {
    bot_id: bot.id,
    user_id: session.one(['user-1', 'user-2']),
  })
  if (made !== undefined) session.chats.push({ id: String(made.id), bot })
}

async function inChat(session: RandomSession, act: (chatId: string, token: string | undefined) => Promise<unknown>) {
  const chat = session.one(session.chats)
  if (chat === undefined) await newChat(session)
  else await act(chat.id, chat.bot.token)
}

const unknownId = (kind: string) => `${kind}_01J00000000000000000000000`

/** Operations by name. Each makes a few calls, also refused ones, and waits for their responses. */
export const operations: Readonly<Record<string, (session: RandomSession) => Promise<unknown>>> = {
  app: newApp,
  token: async (session) =>
    newToken(session, await session.app(), session.happens(0.5) ? scopes : [session.one(scopes)]),
  async revoke(session) {
    const app = await session.app()
    const tokenId = app.tokens.length === 0 ? unknownId('tok') : session.one(app.tokens).id
    await session.call(contract.tokens.revoke, { appId: app.id, tokenId }, await session.jwt(app.account))
  },
  async updateApp(session) {
    const { id: appId, account } = await session.app()
    const change = session.one([{ name: session.one(texts) }, { status: 'disabled' }, { status: 'active' }, {}])
    await session.call(contract.apps.update, { appId, ...change }, await session.jwt(account))
  },
  async suspend(session) {
    const { id: appId } = await session.app()
    const endpoint = session.one([contract.platform.suspendApp, contract.platform.reinstateApp])
    await session.call(endpoint, { appId })
  },
  async foreignApp(session) {
    const { id: appId } = await session.app()
    const jwt = await session.jwt(session.one(ACCOUNTS))
    await session.call(contract.apps.get, { appId: session.one([appId, unknownId('app'), 'unknown']) }, jwt)
  },
  login: async (session) => session.forgetLogins(),
  template: activeTemplate,
  async review(session) {
    const template = session.one(session.templates)
    if (template === undefined) return
    const { id: templateId, app } = template
    const decision = session.one([
      contract.platform.approveTemplate,
      contract.platform.rejectTemplate,
      contract.templates.submit,
    ])
    const reason = decision === contract.platform.rejectTemplate ? { code: 'UNCLEAR', reason: 'What is it?' } : {}
    const token = decision === contract.templates.submit ? session.tokenOf(app) : undefined
    await session.call(decision, { templateId, ...reason }, token)
  },
  issue,
  issueAgain: issue,
  async issueAtOperator(session) {
    const template = session.one(session.templates)
    if (template === undefined) return
    const input = { template_id: template.id, external_issue_id: 'page', recipient_user_id: 'user-1' }
    await session.call(contract.platform.callAsApp, { appId: template.app.id, endpoint: 'vouchers.issue', input })
  },
  async issueUnknown(session) {
    const token = session.tokenOf(await session.app())
    const input = { template_id: unknownId('tpl'), external_issue_id: 'order-1', recipient_user_id: 'user-1' }
    const wrong = session.one<Data>([input, { ...input, external_issue_id: '' }, { ...input, more: 1 }, {}])
    await session.call(contract.vouchers.issue, wrong, token)
  },
  verify: (session) => present(session, contract.vouchers.verify),
  redeem: (session) => present(session, contract.vouchers.redeem),
  redeemAgain: (session) => present(session, contract.vouchers.redeem, session.key()),
  async redeemUnknown(session) {
    const token = session.tokenOf(await session.app())
    const value = session.one(['M9S3-46Q3-D25V-T4FJ', 'M9S3-46Q3-D25V-T4FK', 'short'])
    await session.call(contract.vouchers.redeem, { credential: { type: 'redeem_code', value } }, token)
  },
  reverse: (session) => withRedemption(session, contract.vouchers.reverse),
  redemption: (session) => withRedemption(session, contract.vouchers.redemption),
  async lists(session) {
    const app = await session.app()
    const jwt = await session.jwt(app.account)
    const query = session.one<Data>([{}, { limit: 1 }, { page: 2 }, { limit: 1_000 }])
    await session.call(contract.apps.list, query, jwt)
    await session.call(contract.tokens.list, { appId: app.id, ...query }, jwt)
    const status = session.happens(0.5) ? { status: session.one(['active', 'draft', 'wrong']) } : {}
    await session.call(contract.templates.list, { ...query, ...status }, session.tokenOf(app))
  },
  advance: (session) =>
    session.call(contract.platform.advanceClock, { seconds: session.one([0, 0.5, 60, 86_400, 31 * 86_400]) }),
  async fault(session) {
    const endpoint = session.one(['vouchers.issue', 'vouchers.redeem', 'templates.list'])
    const kind = session.one([
      { kind: 'error' },
      { kind: 'status', status: 429, retry_after: 0 },
      { kind: 'status', status: 418 },
      { kind: 'delay', delay_ms: 0 },
      { kind: 'drop_response' },
      { kind: 'hold', at: session.one(['received', 'before', 'committed', 'answered']), hold_ms: 1 },
      { kind: 'refuse_connection' },
      { kind: 'hang', hold_ms: 1 },
    ])
    await session.call(contract.platform.addFault, { endpoint, ...kind, nth: session.one([1, 2]) })
  },
  clearFaults: (session) => session.call(contract.platform.clearFaults, {}),
  bot: newBot,
  chat: newChat,
  message: (session) =>
    inChat(session, (chatId) => session.call(contract.platform.sendAsUser, { chatId, text: session.one(texts) })),
  send: (session) =>
    inChat(session, (chatId, token) =>
      session.call(contract.bots.send, { chat_id: chatId, text: session.one(texts) }, token),
    ),
  block: (session) =>
    inChat(session, (chatId) =>
      session.call(session.one([contract.platform.blockChat, contract.platform.unblockChat]), { chatId }),
    ),
  async botIssue(session) {
    const template = session.one(session.templates)
    if (template === undefined) return
    const order = { template_id: template.id, external_issue_id: `bot-${session.one([1, 2])}` }
    await inChat(session, (chatId, token) => session.call(contract.bots.issue, { ...order, chat_id: chatId }, token))
  },
  updates: async (session) => {
    const bot = session.one(session.bots)
    const offset = session.one<Data>([{}, { offset: 1 }, { offset: 2 }, { offset: -1 }, { offset: 99 }])
    if (bot !== undefined) await session.call(contract.bots.updates, offset, bot.token)
  },
  async raw(session) {
    const app = await session.app()
    const credential = session.one([undefined, session.tokenOf(app), await session.jwt(app.account), 'sop_unknown'])
    const path = session.one([
      '/nope',
      '/api/v1/open-platform/vouchers/issue',
      '/api/v1/open-platform/applications',
      `/api/v1/open-platform/applications/${app.id}/unknown?x=\${y}`,
    ])
    await session.raw(session.one(['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']), path, credential)
    await session.raw('POST', path, credential, session.one(['no JSON', '[1]', '{"a":{"b":1}}']))
  },
  async snapshot(session) {
    if (session.happens(0.7)) return
    await session.call(contract.platform.saveSnapshot, { name: 'one' })
    await issue(session)
    await session.call(contract.platform.restoreSnapshot, { name: 'one' })
  },
}

/** Returns the operations of a session, and how many of them precede its recording. */
export function randomSequence(seed: number): { readonly before: number; readonly sequence: Operation[] } {
  const random = seededRandom(seed)
  const names = Object.keys(operations)
  const sequence = Array.from({ length: 15 + Math.floor(random() * 16) }, () => ({
    name: names[Math.floor(random() * names.length)] as string,
    seed: Math.floor(random() * 2 ** 31),
  }))
  return { before: random() < 0.5 ? 0 : Math.floor(random() * 10), sequence }
}
