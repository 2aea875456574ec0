import type { CredentialType, Endpoint } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { RateLimitName } from '../../../src/contract/rate-limits.js'
import { deriveCredential } from '../../../src/domain/credentials.js'
import { TestClock } from '../../../src/server/clock.js'
import type { Deps } from '../../../src/server/deps.js'
import { createLimits } from '../../../src/server/limits.js'
import type { Store } from '../../../src/store/store.js'
import { START_MS, type TestApp, testApp } from './app.js'
import { newChat } from './chats.js'
import { type ApiResponse, freshKey, type WireRequest, wireOf } from './client.js'
import { botBody, codeOf, newTenant, serial, type Tenant, type TestBot, templateBody } from './tenant.js'
import { failedDelivery, HOOK_URL, newDelivery } from './webhooks.js'

/** Per endpoint, a function that creates the required objects and returns an input that succeeds. */
export const samples: Readonly<Record<string, (tenant: Tenant, store: Store) => Promise<Record<string, unknown>>>> = {
  'apps.list': async () => ({}),
  'apps.create': async () => ({ name: 'Shop' }),
  'apps.get': async ({ appId }) => ({ appId }),
  'apps.update': async ({ appId }) => ({ appId, name: 'New name' }),
  'tokens.list': async ({ appId }) => ({ appId }),
  'tokens.create': async ({ appId }) => ({ appId, name: 'till', scopes: ['vouchers:read'] }),
  'tokens.revoke': async (tenant) => ({ appId: tenant.appId, tokenId: (await tenant.newToken()).id }),
  'templates.list': async () => ({}),
  'templates.create': async () => templateBody(),
  'templates.submit': async (tenant) => ({ templateId: (await tenant.draft()).id }),
  'vouchers.issue': async (tenant) => ({
    template_id: (await tenant.template()).id,
    external_issue_id: `issue-${serial()}`,
    recipient_user_id: 'user-1',
  }),
  'vouchers.verify': async (tenant) => ({ credential: codeOf(await tenant.issue()) }),
  'vouchers.redeem': async (tenant) => ({ credential: codeOf(await tenant.issue()) }),
  'vouchers.redemption': async (tenant) => ({ redemptionId: (await tenant.redeem(await tenant.issue())).id }),
  'vouchers.reverse': async (tenant) => ({ redemptionId: (await tenant.redeem(await tenant.issue())).id }),
  'apps.linkBot': async (tenant) => ({ appId: tenant.appId, botId: (await tenant.approvedBot()).id }),
  'apps.unlinkBot': async (tenant) => ({ appId: tenant.appId, botId: (await tenant.linkedBot()).id }),
  'bots.apply': async () => botBody(),
  'bots.list': async () => ({}),
  'bots.get': async (tenant) => ({ botId: (await tenant.approvedBot()).id }),
  'bots.update': async (tenant) => ({ botId: (await tenant.approvedBot()).id, name: 'New name' }),
  'bots.regenerateToken': async (tenant) => ({ botId: (await tenant.bot()).id }),
  'bots.metrics': async (tenant) => ({ botId: (await tenant.bot()).id }),
  'bots.templates': async (tenant) => ({ botId: (await tenant.linkedBot()).id }),
  'bots.createTemplate': async (tenant) => ({ botId: (await tenant.linkedBot()).id, ...templateBody() }),
  'bots.submitTemplate': async (tenant) => ({
    botId: (await tenant.linkedBot()).id,
    templateId: (await tenant.draft()).id,
  }),
  'bots.issue': async (tenant) => ({
    chat_id: (await newChat(tenant, await tenant.itsBot())).id,
    template_id: (await tenant.template()).id,
    external_issue_id: `issue-${serial()}`,
  }),
  'bots.send': async (tenant) => ({ chat_id: (await newChat(tenant, await tenant.itsBot())).id, text: 'Hello' }),
  'bots.updates': async (tenant) => {
    const { id: botId } = await tenant.itsBot()
    await tenant.operator(contract.platform.addUpdate, { botId, type: 'ping' })
    return {}
  },
  'platform.addUpdate': async (tenant) => ({ botId: (await tenant.itsBot()).id, type: 'ping' }),
  'platform.borrowWebhook': async (tenant) => ({
    botId: (await tenant.itsBot()).id,
    leaseId: 'one',
    port: 8787,
    secret_token: 'a-secret-of-the-listener',
    holder: 'process 1',
  }),
  'platform.returnWebhook': async (tenant) => ({ botId: (await tenant.itsBot()).id, leaseId: 'one' }),
  'platform.createChat': async (tenant) => ({ bot_id: (await tenant.itsBot()).id, user_id: 'user-1' }),
  'platform.chats': async () => ({}),
  'platform.chat': async (tenant) => ({ chatId: (await newChat(tenant, await tenant.itsBot())).id }),
  'platform.messages': async (tenant) => ({ chatId: (await newChat(tenant, await tenant.itsBot())).id }),
  'platform.sendAsUser': async (tenant) => ({
    chatId: (await newChat(tenant, await tenant.itsBot())).id,
    text: 'Hello?',
  }),
  'platform.blockChat': async (tenant) => ({ chatId: (await newChat(tenant, await tenant.itsBot())).id }),
  'platform.unblockChat': async (tenant) => ({ chatId: (await newChat(tenant, await tenant.itsBot())).id }),
  'platform.approveBot': async (tenant) => ({ botId: (await tenant.appliedBot()).id }),
  'platform.rejectBot': async (tenant) => ({ botId: (await tenant.appliedBot()).id, note: 'What is it for?' }),
  'platform.disableBot': async (tenant) => ({ botId: (await tenant.approvedBot()).id }),
  'platform.enableBot': async (tenant) => {
    const { id: botId } = await tenant.approvedBot()
    await tenant.operator(contract.platform.disableBot, { botId })
    return { botId }
  },
  'webhook.set': async (tenant) => ({ botId: (await tenant.itsBot()).id, url: HOOK_URL }),
  'webhook.setByBot': async () => ({ url: HOOK_URL }),
  'webhook.delete': async (tenant) => ({ botId: (await tenant.itsBot()).id }),
  'webhook.info': async () => ({}),
  'webhook.deliveries': async (tenant) => ({ botId: (await tenant.itsBot()).id }),
  'webhook.retry': async (tenant, store) => {
    const bot = await tenant.itsBot()
    return { botId: bot.id, deliveryId: (await failedDelivery(tenant, bot, store)).id }
  },
  'platform.issueAccountToken': async () => ({ accountId: 'somebody' }),
  'platform.reviews': async () => ({}),
  'platform.approveTemplate': async (tenant) => ({ templateId: (await tenant.reviewing()).id }),
  'platform.rejectTemplate': async (tenant) => ({
    templateId: (await tenant.reviewing()).id,
    code: 'UNCLEAR',
    reason: 'What is it?',
  }),
  'platform.suspendApp': async ({ appId }) => ({ appId }),
  'platform.reinstateApp': async ({ appId }) => ({ appId }),
  'platform.setAppFeatures': async ({ appId }) => ({ appId, features: ['vouchers'] }),
  'platform.secureKeys': async () => ({}),
  'platform.rotateSecureKeys': async () => ({}),
  'platform.getClock': async () => ({}),
  'platform.setClock': async () => ({ now: new Date(START_MS).toISOString() }),
  'platform.advanceClock': async () => ({ seconds: 0 }),
  'platform.forecast': async () => ({ seconds: 60 }),
  'platform.faults': async () => ({}),
  'platform.addFault': async () => ({ endpoint: 'apps.list', kind: 'error', times: 1 }),
  'platform.removeFault': async (tenant) => {
    const fault = { endpoint: 'apps.list', kind: 'delay', times: 1, delay_ms: 0 } as const
    return { faultId: (await tenant.operator(contract.platform.addFault, fault)).data.id }
  },
  'platform.releaseCalls': async () => ({}),
  'platform.clearFaults': async () => ({}),
  'platform.requests': async () => ({}),
  'platform.applications': async () => ({}),
  'platform.templates': async () => ({}),
  'platform.template': async (tenant) => ({ templateId: (await tenant.draft()).id }),
  'platform.bots': async () => ({}),
  'platform.bot': async (tenant) => ({ botId: (await tenant.itsBot()).id }),
  'platform.callAsApp': async ({ appId }) => ({ appId, endpoint: 'templates.list', input: {} }),
  'platform.callAsBot': async (tenant) => ({
    botId: (await tenant.itsBot()).id,
    endpoint: 'webhook.info',
    input: {},
  }),
  'platform.callAsAccount': async ({ accountId }) => ({ accountId, endpoint: 'apps.list', input: {} }),
  'platform.showCredentials': async (tenant) => ({ voucherId: (await tenant.issue()).id }),
  // A seed without records is in every store.
  'platform.seedStore': async () => ({ seed: { account: 'demo' } }),
  'platform.recordScenario': async () => ({ ids: ['req_1'] }),
  'platform.find': async () => ({ text: 'Shop' }),
  'platform.totals': async () => ({}),
  'platform.overview': async () => ({}),
  'platform.openPage': async () => ({}),
  'platform.activity': async () => ({}),
  'platform.vouchers': async () => ({}),
  'platform.voucher': async (tenant) => ({ voucherId: (await tenant.issue()).id }),
  'platform.findVoucher': async (tenant) => ({ credential: codeOf(await tenant.issue()) }),
  'platform.deliveries': async () => ({}),
  'platform.delivery': async (tenant) => ({ deliveryId: (await newDelivery(tenant, await tenant.itsBot())).id }),
  'platform.replayDelivery': async (tenant) => ({
    deliveryId: (await newDelivery(tenant, await tenant.itsBot())).id,
    mode: 'resigned',
  }),
  'platform.snapshots': async () => ({}),
  'platform.saveSnapshot': async () => ({ name: 'one' }),
  'platform.restoreSnapshot': async (tenant) => savedSnapshot(tenant),
  'platform.removeSnapshot': async (tenant) => savedSnapshot(tenant),
  'platform.reset': async () => ({}),
  'platform.reference': async () => ({}),
}

/** A well-formed credential that belongs to no voucher. */
export const unknownCredential = (type: CredentialType = 'redeem_code') => ({
  type,
  value: deriveCredential(new Uint8Array(32), `nobody-${serial()}`, type, 0),
})

export interface Sent {
  /** Members that replace members of the sample input. */
  readonly input?: Readonly<Record<string, unknown>>
  /** Null sends no Authorization header. */
  readonly credential?: string | null
  /** Idempotency key; null sends no Idempotency-Key header. */
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly query?: string
  readonly to?: TestApp
}

/** An endpoint with its own tenant and a sample request that succeeds. */
export class Scene {
  readonly #closing: (() => Promise<void>)[] = []
  #input: Record<string, unknown> | undefined

  constructor(
    readonly server: TestApp,
    readonly endpoint: Endpoint,
    readonly tenant: Tenant,
    /** The bot whose token is sent to a bot endpoint; null for other endpoints. */
    readonly bot: TestBot | null,
  ) {}

  /** @param of the tenant, by default a new one; scenes that share a tenant have separate objects */
  static async of(server: TestApp, endpoint: Endpoint, of?: Tenant): Promise<Scene> {
    const tenant = of ?? (await newTenant(server))
    return new Scene(server, endpoint, tenant, endpoint.caller === 'bot' ? await tenant.itsBot() : null)
  }

  get credential(): string {
    const { endpoint, tenant, bot } = this
    if (bot !== null) return bot.token
    if (endpoint.caller === 'token') return tenant.token
    return endpoint.caller === 'jwt' ? tenant.jwt : tenant.place.operatorKey
  }

  /** Starts another server on the same store with other dependencies, such as a clock or limits. */
  twin(overrides: Partial<Deps>): TestApp {
    const twin = testApp({ store: this.server.deps.store, ...overrides })
    this.#closing.push(() => twin.close())
    return twin
  }

  /** Starts a server on the same store with a clock that is `days` ahead. */
  later(days: number): TestApp {
    return this.twin({ clock: new TestClock({ now: () => START_MS + days * 86_400_000 }) })
  }

  limited(name: RateLimitName, calls: number): TestApp {
    // The clock stands still: a new window would begin if a test takes longer than one.
    return this.twin({ limits: createLimits({ [name]: { calls, seconds: 60 } }, () => 0) })
  }

  /** Closes the servers that twin() has started, but not the main server. */
  async close(): Promise<void> {
    for (const close of this.#closing.splice(0)) await close()
  }

  /** The sample input of the endpoint, which is created at the first call. */
  async input(): Promise<Readonly<Record<string, unknown>>> {
    this.#input ??= await (samples[this.endpoint.id] as NonNullable<(typeof samples)[string]>)(
      this.tenant,
      this.server.deps.store,
    )
    return this.#input
  }

  async request({ input = {}, credential, key, headers = {}, body, query }: Sent = {}): Promise<WireRequest> {
    const { endpoint } = this
    const wire = wireOf(endpoint, { ...(await this.input()), ...input })
    const sent = credential === undefined ? this.credential : credential
    const idempotencyKey = key === undefined && endpoint.idempotent ? freshKey() : key
    return {
      ...wire,
      path: query === undefined ? wire.path : `${wire.path}?${query}`,
      ...(body === undefined ? {} : { body }),
      headers: {
        ...(sent === null ? {} : { authorization: `Bearer ${sent}` }),
        ...(idempotencyKey === undefined || idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...wire.headers,
        ...headers,
      },
    }
  }

  async send(sent: Sent = {}): Promise<ApiResponse> {
    const request = await this.request(sent)
    return (sent.to ?? this.server).send(request)
  }

  /** Sends the request twice and returns the second response. */
  async sendTwice(sent: Sent): Promise<ApiResponse> {
    await this.send(sent)
    return this.send(sent)
  }
}

async function savedSnapshot(tenant: Tenant): Promise<{ name: string }> {
  const { data } = await tenant.operator(contract.platform.saveSnapshot, { name: `snapshot-${serial()}` })
  return { name: data.name }
}
