import type { Bot } from '../../../src/contract/bots.js'
import { type BotScope, botScopes, type InputOf, type Scope, scopes } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import { templateBody as example } from '../../../src/contract/openapi/template-body.js'
import type { Template, TemplateInput } from '../../../src/contract/templates.js'
import type { Credential, IssuedVoucher, Redemption } from '../../../src/contract/vouchers.js'
import { type Caller, callerOf, type Extra, type Send } from './client.js'

/** The server to which a tenant sends requests. */
export interface Place {
  readonly send: Send
  readonly operatorKey: string
}

let made = 0

/** Returns a unique number for names, so that tests that share a server use different objects. */
export const serial = (): number => ++made

export const templateBody = (overrides: Partial<TemplateInput> = {}): TemplateInput => ({
  ...example,
  external_template_id: `tpl-${serial()}`,
  ...overrides,
})

type Application = InputOf<typeof contract.bots.apply>

export const botBody = (overrides: Partial<Application> = {}): Application => ({
  name: 'Coffee bot',
  username: `coffee_bot_${serial()}`,
  ...overrides,
})

/** An approved bot with its token and a client for it. */
export interface TestBot {
  readonly id: string
  readonly token: string
  readonly call: Caller
}

/** A client of one account, which has an application and a token with every scope. */
export class Tenant {
  #bot: Promise<TestBot> | undefined

  constructor(
    readonly place: Place,
    readonly accountId: string,
    readonly jwt: string,
    readonly appId: string,
    readonly token: string,
    readonly tokenId: string,
  ) {
    this.console = callerOf(place.send, jwt)
    this.runtime = callerOf(place.send, token)
    this.operator = callerOf(place.send, place.operatorKey)
  }

  readonly console: Caller
  readonly runtime: Caller
  readonly operator: Caller

  async newToken(granted: readonly Scope[] = scopes): Promise<{ id: string; token: string; call: Caller }> {
    const input = { appId: this.appId, name: 'extra', scopes: [...granted] }
    const { id, token } = (await this.console(contract.tokens.create, input)).data
    return { id, token, call: callerOf(this.place.send, token) }
  }

  async draft(overrides: Partial<TemplateInput> = {}): Promise<Template> {
    return (await this.runtime(contract.templates.create, templateBody(overrides))).data
  }

  async reviewing(overrides: Partial<TemplateInput> = {}): Promise<Template> {
    const { id } = await this.draft(overrides)
    return (await this.runtime(contract.templates.submit, { templateId: id })).data
  }

  async template(overrides: Partial<TemplateInput> = {}): Promise<Template> {
    const { id } = await this.reviewing(overrides)
    return (await this.operator(contract.platform.approveTemplate, { templateId: id })).data
  }

  async issue(templateId?: string, extra?: Extra): Promise<IssuedVoucher> {
    const input = {
      template_id: templateId ?? (await this.template()).id,
      external_issue_id: `issue-${serial()}`,
      recipient_user_id: 'user-1',
    }
    return (await this.runtime(contract.vouchers.issue, input, extra)).data
  }

  async appliedBot(overrides: Partial<Application> = {}): Promise<Bot> {
    return (await this.console(contract.bots.apply, botBody(overrides))).data
  }

  /** Creates an approved bot whose one-time token nobody has read yet. */
  async approvedBot(overrides: Partial<Application> = {}): Promise<Bot> {
    const { id } = await this.appliedBot(overrides)
    return (await this.operator(contract.platform.approveBot, { botId: id })).data
  }

  /** Creates an approved bot and reads its token; the bot has every scope by default. */
  async bot(granted: readonly BotScope[] = botScopes): Promise<TestBot> {
    const { id } = await this.approvedBot({ scopes: [...granted] })
    const token = (await this.console(contract.bots.get, { botId: id })).data.one_time_token as string
    return { id, token, call: callerOf(this.place.send, token) }
  }

  /** Creates a bot like bot() and links it to the application. */
  async linkedBot(granted?: readonly BotScope[]): Promise<TestBot> {
    const bot = await this.bot(granted)
    const linked = await this.console(contract.apps.linkBot, { appId: this.appId, botId: bot.id })
    if (linked.status !== 200) throw new Error(linked.text)
    return bot
  }

  /** The linked bot of this tenant, which is created at the first call. */
  itsBot(): Promise<TestBot> {
    this.#bot ??= this.linkedBot()
    return this.#bot
  }

  async redeem(voucher: IssuedVoucher, extra?: Extra): Promise<Redemption> {
    return (await this.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, extra)).data
  }
}

/** Returns the tenant as a client of another server, or over another connection. */
export const tenantAt = (place: Place, { accountId, jwt, appId, token, tokenId }: Tenant): Tenant =>
  new Tenant(place, accountId, jwt, appId, token, tokenId)

export function codeOf(
  voucher: Pick<IssuedVoucher, 'credentials'>,
  type: Credential['type'] = 'redeem_code',
): Credential {
  const credential = voucher.credentials.find((it) => it.type === type)
  if (credential === undefined) throw new Error(`the voucher shows no ${type}`)
  return credential
}

export async function newTenant(place: Place, accountId = `account-${serial()}`): Promise<Tenant> {
  const operator = callerOf(place.send, place.operatorKey)
  const issued = await operator(contract.platform.issueAccountToken, { accountId, expires_in_seconds: 31_536_000 })
  const { jwt } = issued.data
  const inConsole = callerOf(place.send, jwt)
  const { id: appId } = (await inConsole(contract.apps.create, { name: 'Shop' })).data
  const input = { appId, name: 'till', scopes: [...scopes], expires_in_days: null }
  const { token, id } = (await inConsole(contract.tokens.create, input)).data
  return new Tenant(place, accountId, jwt, appId, token, id)
}
