import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { botScopes, type Endpoint, scopes } from '../../src/contract/endpoint.js'
import { contract } from '../../src/contract/index.js'
import { createLimits } from '../../src/server/limits.js'
import { type TestApp, testApp } from '../support/server/app.js'
import { Scene, type Sent, unknownCredential } from '../support/server/scene.js'

/**
 * One reason to refuse a call. rules/calls.md#order-of-checks defines the order: 404/405, 426 of the server, 401, 403
 * of the application, 426 of the application, feature, scope, 429, 415/413/400, Idempotency-Key, replay or 409, 404,
 * 409. Tests combine each violation with every later one and require the response of the earlier one.
 */
interface Violation {
  readonly code: string
  /** Prepares the tenant; runs before the `spoil` of any violation. */
  prepare?(scene: Scene): Promise<void>
  spoil?(scene: Scene, botId: string): Promise<void>
  /** How the request differs from a valid one. */
  readonly sent?: Sent
  readonly path?: (path: string) => string
  readonly method?: string
  readonly narrowToken?: true
  readonly limited?: true
  /** Whether the server requires encryption. */
  readonly strict?: true
}

const narrow: Violation = { code: 'INSUFFICIENT_SCOPE', narrowToken: true }
const limited: Violation = { code: 'RATE_LIMITED', limited: true }

const before: Violation[] = [
  { code: 'ROUTE_NOT_FOUND', path: (path) => path.replace(/(?=\?|$)/, '/and/more') },
  { code: 'METHOD_NOT_ALLOWED', method: 'PUT' },
  { code: 'SECURE_TRANSPORT_REQUIRED', strict: true },
  { code: 'TOKEN_MISSING', sent: { credential: null } },
  {
    code: 'APPLICATION_DISABLED',
    spoil: async ({ tenant }) => {
      await tenant.console(contract.apps.update, { appId: tenant.appId, status: 'disabled' })
    },
  },
  {
    code: 'SECURE_TRANSPORT_REQUIRED',
    spoil: async ({ tenant }) => {
      await tenant.console(contract.apps.update, { appId: tenant.appId, secure_transport: 'required' })
    },
  },
  {
    code: 'FEATURE_UNAVAILABLE',
    spoil: async ({ tenant }) => {
      await tenant.operator(contract.platform.setAppFeatures, { appId: tenant.appId, features: [] })
    },
  },
  narrow,
  limited,
]

/** The first violations of a call by a linked bot. Unlinked bots, which act for no application, have their own list. */
const beforeOfBot: Violation[] = [
  ...before.slice(0, 4),
  {
    code: 'BOT_DISABLED',
    spoil: async ({ tenant }, botId) => void (await tenant.operator(contract.platform.disableBot, { botId })),
  },
  ...before.slice(4),
]
const unlinked: Violation = {
  code: 'BOT_NOT_LINKED',
  spoil: async ({ tenant }, botId) =>
    void (await tenant.console(contract.apps.unlinkBot, { appId: tenant.appId, botId })),
}

const badType: Violation = {
  code: 'UNSUPPORTED_MEDIA_TYPE',
  sent: { body: '{}', headers: { 'content-type': 'text/csv' } },
}
const badBody: Violation = { code: 'VALIDATION_FAILED', sent: { query: 'unknown=1' } }
const noKey: Violation = { code: 'IDEMPOTENCY_KEY_REQUIRED', sent: { key: null } }
const usedKey: Violation = {
  code: 'IDEMPOTENCY_KEY_REUSED',
  prepare: async ({ tenant }) => void (await tenant.issue(undefined, { key: 'used' })),
  sent: { key: 'used' },
}
const sendFirst = async (scene: Scene) => void (await scene.send())

const chains: [Endpoint, Violation[]][] = [
  [
    contract.vouchers.issue,
    [
      ...before,
      badType,
      badBody,
      noKey,
      usedKey,
      { code: 'TEMPLATE_NOT_FOUND', sent: { input: { template_id: 'tpl_0' } } },
      { code: 'EXTERNAL_ISSUE_ID_CONFLICT', prepare: sendFirst, sent: { input: { recipient_user_id: 'user-2' } } },
    ],
  ],
  [
    contract.vouchers.redeem,
    [
      ...before,
      badType,
      badBody,
      noKey,
      usedKey,
      { code: 'VOUCHER_NOT_FOUND', sent: { input: { credential: unknownCredential() } } },
      { code: 'VOUCHER_ALREADY_REDEEMED', prepare: sendFirst },
    ],
  ],
  [
    contract.vouchers.reverse,
    [
      ...before,
      badType,
      badBody,
      noKey,
      usedKey,
      { code: 'REDEMPTION_NOT_FOUND', sent: { input: { redemptionId: 'rdm_0' } } },
      { code: 'REDEMPTION_ALREADY_REVERSED', prepare: sendFirst },
    ],
  ],
  [
    contract.bots.issue,
    [
      ...beforeOfBot,
      badType,
      badBody,
      { code: 'IDEMPOTENCY_KEY_INVALID', sent: { key: 'two words' } },
      usedKey,
      { code: 'CHAT_NOT_FOUND', sent: { input: { chat_id: 'chat_0' } } },
      {
        code: 'BOT_BLOCKED',
        prepare: async (scene) => {
          const { chat_id: chatId } = await scene.input()
          await scene.tenant.operator(contract.platform.blockChat, { chatId: String(chatId) })
        },
      },
      { code: 'TEMPLATE_NOT_FOUND', sent: { input: { template_id: 'tpl_0' } } },
    ],
  ],
  [contract.bots.issue, [...beforeOfBot.slice(0, 5), narrow, unlinked, limited, badType]],
  [
    contract.bots.send,
    [
      ...beforeOfBot.filter(({ code }) => !/^(APPLICATION|SECURE|FEATURE)/.test(code)),
      badType,
      badBody,
      { code: 'CHAT_NOT_FOUND', sent: { input: { chat_id: 'chat_0' } } },
    ],
  ],
  [
    contract.templates.submit,
    [
      ...before,
      badType,
      badBody,
      { code: 'TEMPLATE_NOT_FOUND', sent: { input: { templateId: 'tpl_0' } } },
      { code: 'TEMPLATE_STATE_CONFLICT', prepare: sendFirst },
    ],
  ],
]

let server: TestApp
beforeAll(() => {
  server = testApp()
})
afterAll(() => server.close())

/** A credential of the tenant with every scope except the endpoint's. */
async function narrowCaller({ endpoint, tenant, bot }: Scene): Promise<{ token: string; botId?: string }> {
  if (bot === null) return tenant.newToken(scopes.filter((scope) => scope !== endpoint.scope))
  const { id: botId, token } = await tenant.linkedBot(botScopes.filter((scope) => scope !== endpoint.scope))
  return { token, botId }
}

const isStateful = ({ prepare, spoil, limited, narrowToken }: Violation) =>
  prepare !== undefined || spoil !== undefined || limited === true || narrowToken === true

/** A tenant in the state that some violations need. Refused calls change nothing, so several tests share the tenant. */
interface Prepared {
  readonly scene: Scene
  readonly narrow?: { readonly token: string; readonly botId?: string }
  readonly twinOf: (strict: boolean) => TestApp
}

async function prepared(endpoint: Endpoint, violations: readonly Violation[]): Promise<Prepared> {
  const scene = await Scene.of(server, endpoint)
  await scene.request()
  for (const { prepare } of violations) await prepare?.(scene)
  const narrow = violations.some((it) => it.narrowToken) ? await narrowCaller(scene) : undefined
  for (const { spoil } of violations) await spoil?.(scene, narrow?.botId ?? scene.bot?.id ?? '')
  const limits = violations.some((it) => it.limited)
    ? createLimits({ [endpoint.limit as 'issue']: { calls: 1, seconds: 60 } }, () => 0)
    : server.deps.limits
  const secure = { ...server.deps.secure, required: true }
  const loose = limits === server.deps.limits ? server : scene.twin({ limits })
  let strict: TestApp | undefined
  const twinOf = (isStrict: boolean) => {
    if (!isStrict) return loose
    strict ??= scene.twin({ limits, secure })
    return strict
  }
  return { scene, twinOf, ...(narrow === undefined ? {} : { narrow }) }
}

async function codeOf({ scene, narrow, twinOf }: Prepared, violations: readonly Violation[]): Promise<string | null> {
  const sent: Sent = {
    ...(narrow === undefined ? {} : { credential: narrow.token }),
    ...violations.reduce<Sent>((all, it) => ({ ...all, ...it.sent, input: { ...all.input, ...it.sent?.input } }), {}),
  }
  if (violations.some((it) => it.limited)) await scene.send({ ...sent, to: twinOf(false) })
  let request = await scene.request(sent)
  for (const { path, method } of violations) {
    if (path !== undefined) request = { ...request, path: path(request.path) }
    if (method !== undefined) request = { ...request, method }
  }
  return (await twinOf(violations.some((it) => it.strict)).send(request)).code
}

describe.each(chains.map(([endpoint, chain]) => [endpoint.id, endpoint, chain] as const))(
  '%s',
  { tags: ['order-of-checks/2', 'order-of-checks/3'] },
  (_id, endpoint, chain) => {
    const made = new Map<string, Promise<Prepared>>()
    afterAll(async () => {
      for (const it of made.values()) await (await it).scene.close()
    })

    /** Makes a call with these violations and returns its failure code. */
    const codeWith = async (violations: readonly Violation[]): Promise<string | null> => {
      const stateful = violations.filter(isStateful)
      const key = stateful.map((it) => chain.indexOf(it)).join()
      const known = made.get(key) ?? prepared(endpoint, stateful)
      made.set(key, known)
      return codeOf(await known, violations)
    }

    for (const [index, first] of chain.entries()) {
      it(`refusal with ${first.code} takes precedence over every later check`, async () => {
        expect(await codeWith([first])).toBe(first.code)
        for (const second of chain.slice(index + 1)) {
          expect([second.code, await codeWith([second, first])]).toEqual([second.code, first.code])
        }
      })
    }
  },
)
