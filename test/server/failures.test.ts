import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type BotScope, botScopes, type Endpoint, failuresOf, scopes } from '../../src/contract/endpoint.js'
import { type FailureCode, failures } from '../../src/contract/errors.js'
import { contract, endpoints } from '../../src/contract/index.js'
import { openEndpoints } from '../../src/contract/secure.js'
import { makeToken } from '../../src/domain/tokens.js'
import { TestClock } from '../../src/server/clock.js'
import type { Deps } from '../../src/server/deps.js'
import { Faults } from '../../src/server/faults.js'
import { Gate } from '../../src/server/gate.js'
import { Activity } from '../../src/server/observe/activity.js'
import { RequestLog } from '../../src/server/observe/request-log.js'
import { Snapshots } from '../../src/server/snapshots.js'
import { SnapshotsDamaged } from '../../src/store/snapshots.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { isRest } from '../support/extent.js'
import { securely } from '../support/secure/send.js'
import {
  START_MS,
  seededRandom,
  type TestApp,
  testApp,
  testDeps,
  testFaultSources,
  testInspector,
} from '../support/server/app.js'
import { newChat } from '../support/server/chats.js'
import type { ApiResponse } from '../support/server/client.js'
import { Scene, samples, unknownCredential } from '../support/server/scene.js'
import { codeOf, type TestBot } from '../support/server/tenant.js'
import { WatchedPolls } from '../support/server/watched-polls.js'
import { plantWebhook } from '../support/server/webhooks.js'
import { holdWrites } from '../support/store/held-writes.js'

type Produce = (scene: Scene) => Promise<ApiResponse>

/** By failure code: how to make any endpoint return the code. */
const common: Partial<Record<FailureCode, Produce>> = {
  TOKEN_MISSING: (scene) => scene.send({ credential: null }),
  TOKEN_INVALID: (scene) => scene.send({ credential: forged(scene.endpoint, scene.credential) }),
  TOKEN_TYPE_NOT_ACCEPTED: (scene) => {
    const { token, jwt } = scene.tenant
    return scene.send({ credential: scene.endpoint.caller === 'token' ? jwt : token })
  },
  TOKEN_EXPIRED: async (scene) => {
    const credential = scene.endpoint.caller === 'token' ? (await scene.tenant.newToken()).token : scene.credential
    return scene.send({ credential, to: scene.later(366) })
  },
  TOKEN_REVOKED: async (scene) => {
    const { tenant, bot } = scene
    if (bot !== null) {
      await scene.request()
      await tenant.console(contract.bots.regenerateToken, { botId: bot.id })
      return scene.send()
    }
    const { id, token } = await tenant.newToken()
    await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: id })
    return scene.send({ credential: token })
  },
  APPLICATION_DISABLED: async (scene) => {
    await scene.request()
    await scene.tenant.console(contract.apps.update, { appId: scene.tenant.appId, status: 'disabled' })
    return scene.send()
  },
  SECURE_TRANSPORT_REQUIRED: (scene) => scene.send({ to: strictTwin() }),
  ORIGIN_NOT_ALLOWED: async (scene) => {
    await scene.request()
    const { appId } = scene.tenant
    await scene.tenant.console(contract.apps.update, { appId, allowed_origins: ['https://a.example'] })
    return scene.send({ to: { ...scene.server, send: securely(scene.server.send) } })
  },
  FEATURE_UNAVAILABLE: async (scene) => {
    await scene.request()
    await scene.tenant.operator(contract.platform.setAppFeatures, { appId: scene.tenant.appId, features: [] })
    return scene.send()
  },
  INSUFFICIENT_SCOPE: async (scene) => {
    if (scene.bot !== null) {
      const others = botScopes.filter((scope) => scope !== scene.endpoint.scope)
      return scene.send({ credential: (await scene.tenant.linkedBot(others)).token })
    }
    const others = scopes.filter((scope) => scope !== scene.endpoint.scope)
    return scene.send({ credential: (await scene.tenant.newToken(others)).token })
  },
  BOT_DISABLED: async (scene) => {
    await scene.tenant.operator(contract.platform.disableBot, { botId: await botIdOf(scene) })
    return scene.send()
  },
  BOT_NOT_LINKED: async (scene) => {
    await scene.request()
    await scene.tenant.console(contract.apps.unlinkBot, { appId: scene.tenant.appId, botId: await botIdOf(scene) })
    return scene.send()
  },
  BOT_NOT_FOUND: (scene) => scene.send({ input: botNamed(scene, 'bot_01ARZ3NDEKTSV4RRFFQ69G5FAV') }),
  BOT_NOT_APPROVED: async (scene) => scene.send({ input: botNamed(scene, (await scene.tenant.appliedBot()).id) }),
  WEBHOOK_URL_REFUSED: (scene) => scene.send({ input: { url: 'https://localhost/hook' } }),
  DELIVERY_NOT_FOUND: (scene) => scene.send({ input: { deliveryId: 'dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV' } }),
  CHAT_NOT_FOUND: (scene) => {
    const id = 'chat_01ARZ3NDEKTSV4RRFFQ69G5FAV'
    return scene.send({ input: scene.endpoint.params === undefined ? { chat_id: id } : { chatId: id } })
  },
  BOT_BLOCKED: async (scene) => {
    const { chat_id: chatId, chatId: inPath = chatId } = await scene.input()
    await scene.tenant.operator(contract.platform.blockChat, { chatId: String(inPath) })
    return scene.send()
  },
  RATE_LIMITED: (scene) => {
    const { limit } = scene.endpoint
    if (limit !== undefined) return scene.sendTwice({ to: scene.limited(limit, 1) })
    return scene.sendTwice({ credential: null, to: scene.limited('auth_failures', 1) })
  },
  INVALID_JSON: (scene) => scene.send({ body: '{"a":' }),
  PAYLOAD_TOO_LARGE: (scene) => scene.send({ body: JSON.stringify({ a: 'x'.repeat(65_536) }) }),
  UNSUPPORTED_MEDIA_TYPE: (scene) => scene.send({ body: 'a=b', headers: { 'content-type': 'text/plain' } }),
  VALIDATION_FAILED: (scene) => scene.send({ query: 'unknown=1' }),
  IDEMPOTENCY_KEY_REQUIRED: (scene) => scene.send({ key: null }),
  IDEMPOTENCY_KEY_INVALID: (scene) => scene.send({ key: 'two words' }),
  IDEMPOTENCY_KEY_REUSED: async (scene) => {
    await scene.tenant.issue(undefined, { key: 'used' })
    return scene.send({ key: 'used' })
  },
  IDEMPOTENCY_KEY_IN_PROGRESS: inProgress,
  INTERNAL_ERROR: (scene) => scene.send({ to: failingTwin(scene, new Error('a bug with a secret')) }),
  SERVICE_UNAVAILABLE: (scene) => scene.send({ to: failingTwin(scene, new StoreUnavailable('disk full')) }),
  APPLICATION_NOT_FOUND: (scene) => scene.send({ input: { appId: 'app_01ARZ3NDEKTSV4RRFFQ69G5FAV' } }),
  TEMPLATE_NOT_FOUND: (scene) => {
    const id = 'tpl_01ARZ3NDEKTSV4RRFFQ69G5FAV'
    return scene.send({ input: scene.endpoint.params === undefined ? { template_id: id } : { templateId: id } })
  },
  REDEMPTION_NOT_FOUND: (scene) => scene.send({ input: { redemptionId: 'rdm_01ARZ3NDEKTSV4RRFFQ69G5FAV' } }),
  VOUCHER_NOT_FOUND: (scene) => scene.send({ input: { credential: unknownCredential() } }),
  CREDENTIAL_ATTEMPTS_EXCEEDED: (scene) => {
    const input = { credential: unknownCredential() }
    return scene.sendTwice({ input, to: scene.limited('credential_failures', 1) })
  },
  FAULT_NOT_FOUND: (scene) => scene.send({ input: { faultId: 'flt_01ARZ3NDEKTSV4RRFFQ69G5FAV' } }),
  HOST_NOT_ALLOWED: (scene) => scene.send({ headers: { host: 'evil.example' } }),
  CROSS_SITE_REQUEST: (scene) => scene.send({ headers: { origin: 'http://evil.example' } }),
  PAGE_SESSION_REQUIRED: (scene) => {
    const headers = { 'page-token': 'x', origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }
    return scene.send({ credential: null, headers })
  },
  SNAPSHOTS_DAMAGED: (scene) => {
    const damaged = async () => {
      throw new SnapshotsDamaged('/data/voucherctl.db.snapshots/6f6e65.db')
    }
    const calls = { list: damaged, save: damaged, restore: damaged, remove: damaged }
    return scene.send({ to: scene.twin({ snapshots: Object.assign(new Snapshots(scene.server.deps), calls) }) })
  },
  SERVER_NOT_LOOPBACK: (scene) => scene.send({ to: scene.twin({ isLoopback: false }) }),
  PAGE_OFF: (scene) => scene.send({ to: scene.twin({ inspector: null }) }),
  SNAPSHOT_NOT_FOUND: (scene) => scene.send({ input: { name: 'unknown' } }),
  RESET_NOT_ALLOWED: (scene) => scene.send({ to: scene.twin({ stateAccess: { isAllowed: false, isShared: false } }) }),
  DATABASE_SHARED: (scene) => scene.send({ to: scene.twin({ stateAccess: { isAllowed: true, isShared: true } }) }),
  TEST_CLOCK_OFF: (scene) => scene.send({ to: scene.twin({ clock: { now: () => START_MS, onMove: () => () => {} } }) }),
}

/** Submits a rejected template after another template took its external id. */
async function resubmitTaken(scene: Scene): Promise<ApiResponse> {
  const { tenant } = scene
  const { id, externalTemplateId } = await tenant.reviewing()
  await tenant.operator(contract.platform.rejectTemplate, { templateId: id, code: 'UNCLEAR', reason: 'What is it?' })
  await tenant.draft({ external_template_id: externalTemplateId })
  return scene.send({ input: { templateId: id } })
}

/** Makes a console call for a bot that lacks the scope. */
const botWithout =
  (scope: BotScope): Produce =>
  async (scene) => {
    const others = botScopes.filter((it) => it !== scope)
    return scene.send({ input: { botId: (await scene.tenant.linkedBot(others)).id } })
  }

/** By endpoint and failure code: how to make this endpoint return a code that needs its own preparation. */
const specific: Readonly<Record<string, Produce>> = {
  'apps.create APPLICATION_LIMIT_REACHED': async (scene) => {
    for (let have = 1; have < 50; have++) await scene.send()
    return scene.send()
  },
  'apps.linkBot BOT_ALREADY_LINKED': async (scene) => {
    await scene.send()
    const { id } = (await scene.tenant.console(contract.apps.create, { name: 'Another shop' })).data
    return scene.send({ input: { appId: id } })
  },
  'bots.apply BOT_LIMIT_REACHED': async (scene) => {
    for (let have = 0; have < 20; have++) await scene.tenant.appliedBot()
    return scene.send()
  },
  'bots.apply USERNAME_TAKEN': (scene) => scene.sendTwice({}),
  'bots.templates INSUFFICIENT_SCOPE': botWithout('vouchers:read'),
  'bots.createTemplate INSUFFICIENT_SCOPE': botWithout('vouchers:templates:write'),
  'bots.createTemplate EXTERNAL_TEMPLATE_ID_EXISTS': (scene) => scene.sendTwice({}),
  'bots.submitTemplate INSUFFICIENT_SCOPE': botWithout('vouchers:templates:write'),
  'bots.submitTemplate TEMPLATE_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'bots.submitTemplate EXTERNAL_TEMPLATE_ID_EXISTS': resubmitTaken,
  'platform.restoreSnapshot SNAPSHOT_OUTDATED': (scene) => {
    const snapshots = Object.assign(new Snapshots(scene.server.deps), { restore: async () => 'outdated' as const })
    return scene.send({ to: scene.twin({ snapshots }) })
  },
  'platform.approveBot BOT_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'platform.rejectBot BOT_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'platform.disableBot BOT_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'platform.enableBot BOT_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'tokens.create TOKEN_LIMIT_REACHED': async (scene) => {
    for (let have = 1; have < 20; have++) await scene.send()
    return scene.send()
  },
  'tokens.revoke TOKEN_NOT_FOUND': (scene) => scene.send({ input: { tokenId: 'tok_01ARZ3NDEKTSV4RRFFQ69G5FAV' } }),
  'templates.create EXTERNAL_TEMPLATE_ID_EXISTS': (scene) => scene.sendTwice({}),
  'templates.submit TEMPLATE_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'templates.submit EXTERNAL_TEMPLATE_ID_EXISTS': resubmitTaken,
  'platform.voucher VOUCHER_NOT_FOUND': (scene) => scene.send({ input: { voucherId: 'vch_unknown' } }),
  'platform.callAsApp VOUCHER_NOT_FOUND': (scene) =>
    scene.send({ input: { endpoint: 'vouchers.redeem', voucher_id: 'vch_unknown' } }),
  'platform.showCredentials VOUCHER_NOT_FOUND': (scene) => scene.send({ input: { voucherId: 'vch_unknown' } }),
  'platform.seedStore STORE_NOT_EMPTY': (scene) => scene.send({ input: { seed: undefined } }),
  'platform.recordScenario PAYLOAD_TOO_LARGE': (scene) =>
    scene.send({ body: JSON.stringify({ ids: ['x'.repeat(262_144)] }) }),
  'platform.seedStore PAYLOAD_TOO_LARGE': (scene) => scene.send({ body: JSON.stringify({ a: 'x'.repeat(1_048_576) }) }),
  'platform.approveTemplate TEMPLATE_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'platform.rejectTemplate TEMPLATE_STATE_CONFLICT': (scene) => scene.sendTwice({}),
  'vouchers.issue TEMPLATE_NOT_ACTIVE': async (scene) =>
    scene.send({ input: { template_id: (await scene.tenant.reviewing()).id } }),
  'vouchers.issue TEMPLATE_VALIDITY_ENDED': async (scene) => {
    const validity = { type: 'fixed', starts_at: '2020-01-01T00:00:00Z', ends_at: '2021-01-01T00:00:00Z' } as const
    return scene.send({ input: { template_id: (await scene.tenant.template({ validity })).id } })
  },
  'vouchers.issue TEMPLATE_QUOTA_EXHAUSTED': async (scene) => {
    const { id } = await scene.tenant.template({ issue_limit: 1 })
    await scene.tenant.issue(id)
    return scene.send({ input: { template_id: id } })
  },
  'vouchers.issue EXTERNAL_ISSUE_ID_CONFLICT': async (scene) => {
    await scene.send()
    return scene.send({ input: { recipient_user_id: 'user-2' } })
  },
  'bots.issue CHAT_NOT_PRIVATE': async (scene) =>
    scene.send({ input: { chat_id: (await newChat(scene.tenant, scene.bot as TestBot, { type: 'group' })).id } }),
  'bots.issue TEMPLATE_NOT_ACTIVE': (scene) => (specific['vouchers.issue TEMPLATE_NOT_ACTIVE'] as Produce)(scene),
  'bots.issue TEMPLATE_VALIDITY_ENDED': (scene) =>
    (specific['vouchers.issue TEMPLATE_VALIDITY_ENDED'] as Produce)(scene),
  'bots.issue TEMPLATE_QUOTA_EXHAUSTED': (scene) =>
    (specific['vouchers.issue TEMPLATE_QUOTA_EXHAUSTED'] as Produce)(scene),
  'bots.issue EXTERNAL_ISSUE_ID_CONFLICT': async (scene) => {
    await scene.send()
    const other = await newChat(scene.tenant, scene.bot as TestBot, { user_id: 'somebody-else' })
    return scene.send({ input: { chat_id: other.id } })
  },
  'webhook.set POLLING_ACTIVE': pollingActive,
  'webhook.setByBot POLLING_ACTIVE': pollingActive,
  'platform.borrowWebhook POLLING_ACTIVE': pollingActive,
  'platform.borrowWebhook WEBHOOK_BORROWED': async (scene) => {
    await scene.send()
    return scene.send({ input: { leaseId: 'two' } })
  },
  'platform.borrowWebhook WEBHOOK_URL_REFUSED': (scene) => {
    const { webhooks } = scene.server.deps
    return scene.send({ to: scene.twin({ webhooks: { ...webhooks, lends: false } }) })
  },
  'webhook.retry DELIVERY_NOT_RETRYABLE': (scene) => scene.sendTwice({}),
  'platform.replayDelivery DELIVERY_NOT_REPLAYABLE': (scene) => scene.send({ input: { mode: 'as_sent' } }),
  'platform.replayDelivery PAYLOAD_TOO_LARGE': (scene) =>
    scene.send({ body: JSON.stringify({ a: 'x'.repeat(1_500_000) }) }),
  'bots.updates WEBHOOK_ACTIVE': async (scene) => {
    await scene.server.deps.store.write(() => plantWebhook((scene.bot as TestBot).id))
    return scene.send()
  },
  'bots.updates OFFSET_IN_FUTURE': (scene) => scene.send({ input: { offset: 3 } }),
  'bots.updates POLL_TERMINATED': async (scene) => {
    const polls = new WatchedPolls()
    const to = scene.twin({ polls })
    const held = scene.send({ input: { offset: 2, timeout: 50 }, to })
    await polls.waits(1)
    await scene.send({ to })
    return held
  },
  'platform.addUpdate BOT_STATE_CONFLICT': async (scene) => {
    await (await scene.tenant.itsBot()).call(contract.bots.updates, { allowed_updates: ['message'] })
    return scene.send()
  },
  'vouchers.redeem VOUCHER_ALREADY_REDEEMED': (scene) => scene.sendTwice({}),
  'vouchers.redeem VOUCHER_EXPIRED': (scene) => scene.send({ to: scene.later(30) }),
  'vouchers.redeem VOUCHER_NOT_YET_VALID': async (scene) => {
    const { id } = await scene.tenant.template({ validity: { type: 'relative', duration_days: 1, delay_days: 1 } })
    return scene.send({ input: { credential: codeOf(await scene.tenant.issue(id)) } })
  },
  'vouchers.redeem RECIPIENT_MISMATCH': (scene) => scene.send({ input: { recipient_user_id: 'user-2' } }),
  'vouchers.reverse REDEMPTION_ALREADY_REVERSED': (scene) => scene.sendTwice({}),
  'vouchers.reverse REVERSAL_WINDOW_CLOSED': (scene) => scene.send({ to: scene.later(91) }),
}

/** Failure codes whose cases change nothing: all such cases of an endpoint share one tenant and its objects. */
const leavesAll: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'TOKEN_MISSING',
  'TOKEN_INVALID',
  'TOKEN_TYPE_NOT_ACCEPTED',
  'TOKEN_EXPIRED',
  'SECURE_TRANSPORT_REQUIRED',
  'INSUFFICIENT_SCOPE',
  'BOT_NOT_FOUND',
  'BOT_NOT_APPROVED',
  'WEBHOOK_URL_REFUSED',
  'DELIVERY_NOT_FOUND',
  'CHAT_NOT_FOUND',
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_FAILED',
  'IDEMPOTENCY_KEY_REQUIRED',
  'IDEMPOTENCY_KEY_INVALID',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
  'APPLICATION_NOT_FOUND',
  'TEMPLATE_NOT_FOUND',
  'REDEMPTION_NOT_FOUND',
  'VOUCHER_NOT_FOUND',
  'CREDENTIAL_ATTEMPTS_EXCEEDED',
  'TEST_CLOCK_OFF',
  'FAULT_NOT_FOUND',
  'HOST_NOT_ALLOWED',
  'CROSS_SITE_REQUEST',
  'PAGE_SESSION_REQUIRED',
  'PAGE_OFF',
  'SNAPSHOT_NOT_FOUND',
  'SNAPSHOTS_DAMAGED',
  'RESET_NOT_ALLOWED',
  'SERVER_NOT_LOOPBACK',
  'DATABASE_SHARED',
])

function canShare(endpoint: Endpoint, code: FailureCode): boolean {
  if (code === 'RATE_LIMITED') return endpoint.limit === undefined
  return specific[`${endpoint.id} ${code}`] === undefined && leavesAll.has(code)
}

/** The id of the bot that the call names, or else of the bot that makes the call. */
async function botIdOf(scene: Scene): Promise<string> {
  return String((await scene.input()).botId ?? scene.bot?.id)
}

function botNamed({ endpoint }: Scene, id: string): Record<string, string> {
  return endpoint.params === undefined ? { bot_id: id } : { botId: id }
}

function forged({ caller }: Endpoint, genuine: string): string {
  if (caller === 'bot') return makeToken('sbot_', seededRandom('another server'))
  if (caller === 'operator') return makeToken('opk_', seededRandom('another operator'))
  if (caller === 'token') return makeToken('sop_', seededRandom('another server'))
  const [head, , signature] = genuine.split('.')
  const claims = { sub: 'admin', aud: 'voucher-console', exp: START_MS }
  return `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`
}

/** Blocks a first call in the store and sends a second one with the same idempotency key, which waits and times out. */
async function inProgress(scene: Scene): Promise<ApiResponse> {
  const { store, arrived, release } = holdWrites(scene.server.deps.store)
  const to = scene.twin({ store })
  await scene.request()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const first = scene.send({ key: 'held', to })
    await arrived
    const second = scene.send({ key: 'held', to })
    while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(4_999)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1)
    const response = await second
    release()
    expect((await first).status).toBe(scene.endpoint.status)
    return response
  } finally {
    vi.useRealTimers()
  }
}

/** Sends the call while a getUpdates call of the bot is open. */
async function pollingActive(scene: Scene): Promise<ApiResponse> {
  const poll = scene.server.deps.polls.open((await scene.tenant.itsBot()).id)
  try {
    return await scene.send()
  } finally {
    poll.end()
  }
}

/** Servers on the store of `server` with other options, by name. All endpoints share them. */
const twins = new Map<string, TestApp>()
function twin(name: string, overrides: () => Partial<Deps>): TestApp {
  const made = twins.get(name) ?? testApp({ store: server.deps.store, ...overrides() })
  twins.set(name, made)
  return made
}

const strictTwin = () => twin('strict', () => ({ secure: { ...server.deps.secure, required: true } }))

/** A server on which every call of the endpoint throws `error`. */
function failingTwin(scene: Scene, error: Error): TestApp {
  const parts = failing(scene, error)
  return 'store' in parts ? twin(error.message, () => parts) : scene.twin(parts)
}

/** A failing dependency of the endpoint: for most endpoints the store, else its clock, faults or request log. */
function failing({ endpoint }: Scene, error: Error): Partial<Deps> {
  const fail = (): never => {
    throw error
  }
  const clock = new (class extends TestClock {
    #failed = false
    override now(): number {
      if (this.#failed) return START_MS
      this.#failed = true
      return fail()
    }
  })()
  const faults = Object.assign(new Faults(testFaultSources), {
    list: fail,
    add: fail,
    remove: fail,
    clear: fail,
    release: fail,
  })
  const activity = Object.assign(new Activity({ now: () => START_MS }), { stream: fail, lines: fail })
  const requestLog = Object.assign(new RequestLog(START_MS), { stream: fail })
  const parts: Readonly<Record<string, Partial<Deps>>> = {
    'platform.issueAccountToken': { clock, activity },
    'platform.secureKeys': { clock, activity },
    'platform.rotateSecureKeys': { clock, activity },
    'platform.getClock': { clock, activity },
    'platform.setClock': { clock, activity },
    'platform.advanceClock': { clock, activity },
    'platform.faults': { faults },
    'platform.addFault': { faults },
    'platform.removeFault': { faults },
    'platform.clearFaults': { faults },
    'platform.releaseCalls': { faults },
    'platform.requests': { requestLog },
    'platform.openPage': { inspector: Object.assign(testInspector(), { newLink: fail }) },
    'platform.activity': { activity },
    'platform.recordScenario': { activity },
    // It reads nothing but the contract.
    'platform.reference': { gate: Object.assign(new Gate(), { run: fail }) },
  }
  const broken: Store = {
    name: 'broken',
    write: async () => fail(),
    read: async () => fail(),
    listen: () => () => {},
    snapshots: { save: fail, restore: fail, list: fail, remove: fail, clear: fail },
    close: async () => {},
  }
  // The snapshots of a test server never reset it.
  if (endpoint.id === 'platform.reset') return { snapshots: new Snapshots(testDeps({ store: broken })) }
  return parts[endpoint.id] ?? { store: broken }
}

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(async () => {
  for (const it of [server, ...twins.values()]) await it.close()
})

it.each(isRest ? [] : endpoints.map((it) => [it.id, it] as const))(
  'endpoint %s succeeds with its sample call: envelope, request id, Cache-Control',
  { tags: ['envelope/3', 'bodies/5'] },
  async (id, endpoint) => {
    expect(samples).toHaveProperty([id])
    const scene = await Scene.of(server, endpoint)
    const response = await scene.send()
    expect([response.status, response.text]).toEqual([endpoint.status, expect.any(String)])
    const requestId = response.headers['x-request-id']
    expect(requestId).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.headers['x-powered-by']).toBeUndefined()
    if (endpoint.streams) return
    expect(response.envelope).toEqual({ success: true, data: expect.any(Object), requestId })
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8')
  },
)

const tried = new Set<string>()

/** The quick project tests a code of `common` once per kind of caller; the slow project on all other endpoints. */
function isTried(endpoint: Endpoint, code: FailureCode): boolean {
  const kind = `${code} ${endpoint.caller} ${endpoint.linked ?? false}`
  const isQuick = specific[`${endpoint.id} ${code}`] !== undefined || !tried.has(kind)
  if (specific[`${endpoint.id} ${code}`] === undefined) tried.add(kind)
  return isQuick !== isRest
}

const cases = endpoints
  .map((it) => [it.id, it, failuresOf(it).filter((code) => isTried(it, code))] as const)
  .filter(([, , codes]) => codes.length > 0)

describe.each(cases)('%s', { tags: ['envelope/3', 'failure-codes/1', 'failure-codes/3'] }, (id, endpoint, codes) => {
  let shared: Promise<Scene> | undefined
  const sceneFor = (code: FailureCode): Promise<Scene> => {
    if (!canShare(endpoint, code)) return Scene.of(server, endpoint)
    shared ??= Scene.of(server, endpoint)
    return shared
  }

  it.each(codes)('endpoint returns the failure code %s as its contract declares it', async (code) => {
    const produce = specific[`${id} ${code}`] ?? common[code]
    if (produce === undefined) throw new Error(`no case produces ${code} of ${id}`)
    const scene = await sceneFor(code)
    try {
      const response = await produce(scene)
      const { status, retryable, message } = failures[code]
      const { envelope, headers } = response
      expect(envelope).toEqual({
        success: false,
        code,
        message,
        retryable,
        requestId: headers['x-request-id'],
        ...('details' in envelope ? { details: envelope.details } : {}),
      })
      expect(response.status).toBe(status)
      expect(headers['content-type']).toBe('application/json; charset=utf-8')
      // ORIGIN_NOT_ALLOWED was returned encrypted: an inner response has few headers.
      expect(headers['cache-control']).toBe(code === 'ORIGIN_NOT_ALLOWED' ? undefined : 'no-store')
      const challenge = code === 'TOKEN_MISSING' ? 'Bearer' : 'Bearer error="invalid_token"'
      if (status === 401) expect(headers['www-authenticate']).toBe(challenge)
      else expect(headers['www-authenticate'] !== undefined).toBe(code === 'INSUFFICIENT_SCOPE')
      const mayWait = status === 429 || status === 503 || code === 'IDEMPOTENCY_KEY_IN_PROGRESS'
      expect(headers['retry-after'] !== undefined).toBe(mayWait)
      expect(response.text).not.toContain('a bug with a secret')
    } finally {
      await scene.close()
    }
  })
})

it('test cases of failure codes name only failures that the contract declares', () => {
  const declared = endpoints.flatMap((it) => failuresOf(it).map((code) => `${it.id} ${code}`))
  expect(Object.keys(specific).filter((pair) => !declared.includes(pair))).toEqual([])
  const codes = new Set<string>(endpoints.flatMap((it) => failuresOf(it)))
  expect(Object.keys(common).filter((code) => !codes.has(code))).toEqual([])
})

it('an endpoint declares every failure code, except the codes of unknown routes', () => {
  const codes = new Set<string>([
    ...endpoints.flatMap((it) => failuresOf(it)),
    ...openEndpoints.flatMap((it) => it.failures),
  ])
  expect(Object.keys(failures).filter((code) => !codes.has(code))).toEqual(['ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED'])
})
