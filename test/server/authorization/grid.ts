import { SignJWT } from 'jose'
import { expect } from 'vitest'
import { botScopes, type Endpoint, scopes } from '../../../src/contract/endpoint.js'
import { type FailureCode, failures } from '../../../src/contract/errors.js'
import { contract } from '../../../src/contract/index.js'
import { type IdPrefix, newId } from '../../../src/domain/ids.js'
import { makeToken } from '../../../src/domain/tokens.js'
import { TestClock } from '../../../src/server/clock.js'
import { type WireSession, wireSession } from '../../support/secure/wire.js'
import {
  accountKey,
  DAY_MS,
  operatorKey,
  START_MS,
  seededRandom,
  type TestApp,
  testApp,
} from '../../support/server/app.js'
import { newChat } from '../../support/server/chats.js'
import { type ApiResponse, callerOf, freshKey, type WireRequest, wireOf } from '../../support/server/client.js'
import { samples, unknownCredential } from '../../support/server/scene.js'
import { newTenant, type Tenant } from '../../support/server/tenant.js'
import { onPostgres } from '../../support/store/engine-name.js'
import { withOtherEnd } from '../../support/with-other-end.js'
import { expectedCode, type Held, type Row, rows, type Transport, withoutHead } from './table.js'

/**
 * The authorization grid: sends every kind and state of credential to every route, for own, foreign and absent objects,
 * in plain text and encrypted.
 */

let server: TestApp
/** A second server on the store of `server` whose clock is a day behind. */
let yesterday: TestApp
/** A second server on the same store that requires encryption. */
let strict: TestApp
let session: WireSession

export async function openGrid(): Promise<TestApp> {
  server = testApp()
  const { store } = server.deps
  const own = (seed: string, clock: TestClock) => {
    const random = seededRandom(seed)
    // Two servers on one store must not generate the same ids.
    const { faults } = server.deps
    return { store, faults, clock, random, newId: (prefix: IdPrefix) => newId(prefix, clock.now(), random) }
  }
  yesterday = testApp(own('yesterday', new TestClock({ now: () => START_MS - DAY_MS })))
  strict = testApp({ ...own('strict', server.clock), secure: { ...server.deps.secure, required: true } })
  session = await wireSession(server.send)
  return server
}

export async function closeGrid(): Promise<void> {
  shared.clear()
  await strict.close()
  await yesterday.close()
  await server.close()
}

/** One kind and state of credential, and a function that creates a credential of that kind and state. */
interface Entry {
  readonly held: Held
  make(tenant: Tenant): Promise<Made>
}
interface Made {
  /** Null sends no Authorization header. */
  readonly authorization: string | null
  readonly botId?: string
}

const fixed = (held: Held, authorization: string | null): Entry => ({ held, make: async () => ({ authorization }) })

const tokenOf = (state: Omit<Held, 'kind'> = {}): Entry => ({
  held: { kind: 'token', ...state },
  make: async (tenant) => {
    const { token } = await tenant.newToken((state.scopes ?? scopes) as typeof scopes)
    return { authorization: `Bearer ${token}` }
  },
})

const botOf = (state: Omit<Held, 'kind'> = {}): Entry => ({
  held: { kind: 'bot', ...state },
  make: async (tenant) => {
    const granted = (state.scopes ?? botScopes) as typeof botScopes
    const { id, token } = await (state.unlinked ? tenant.bot(granted) : tenant.linkedBot(granted))
    return { authorization: `Bearer ${token}`, botId: id }
  },
})

const accountOf = (fault: NonNullable<Held['fault']>, claims: Record<string, unknown>, key = accountKey): Entry => ({
  held: { kind: 'jwt', fault },
  make: async ({ accountId }) => {
    const all = { sub: accountId, aud: 'voucher-console', exp: START_MS / 1000 + 60, ...claims }
    const jwt = await new SignJWT(all).setProtectedHeader({ alg: 'HS256' }).sign(key)
    return { authorization: `Bearer ${jwt}` }
  },
})

const unknown = (kind: 'token' | 'bot' | 'operator', prefix: 'sop_' | 'sbot_' | 'opk_'): Entry =>
  fixed({ kind, fault: 'unknown' }, `Bearer ${makeToken(prefix, seededRandom(prefix))}`)

const applicationStates = ['disabled', 'suspended', 'featureless', 'encrypted only', 'other origin'] as const
const malformed = [
  ...['', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', 'Token x'],
  ...['Bearer a b', 'Bearer x', 'Bearer ..', 'Bearer sop-x'],
]

export const entries: Readonly<Record<string, Entry>> = {
  none: fixed({ kind: null, fault: 'missing' }, null),
  ...named(malformed, (it) => [`malformed: ${it}`, fixed({ kind: null, fault: 'malformed' }, it)]),

  token: tokenOf(),
  'token, unknown': unknown('token', 'sop_'),
  'token of a prefix alone, unknown': fixed({ kind: 'token', fault: 'unknown' }, 'Bearer sop_'),
  'token, a slip in its checksum': {
    held: { kind: 'token', fault: 'unknown' },
    make: async ({ token }) => ({
      authorization: `Bearer ${withOtherEnd(token)}`,
    }),
  },
  'token, revoked': {
    held: { kind: 'token', fault: 'revoked' },
    make: async (tenant) => {
      const { id, token } = await tenant.newToken()
      await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: id })
      return { authorization: `Bearer ${token}` }
    },
  },
  'token, expired at this instant': {
    held: { kind: 'token', fault: 'expired' },
    make: async ({ appId, jwt }) => {
      const input = { appId, name: 'short', scopes: [...scopes], expires_in_days: 1 }
      const { token } = (await callerOf(yesterday.send, jwt)(contract.tokens.create, input)).data
      return { authorization: `Bearer ${token}` }
    },
  },
  ...named(scopes, (it) => [`token, ${it} alone`, tokenOf({ scopes: [it] })]),
  ...named(scopes, (it) => [`token, all but ${it}`, tokenOf({ scopes: scopes.filter((other) => other !== it) })]),
  ...named(applicationStates, (it) => [`token, application ${it}`, tokenOf({ application: it })]),

  bot: botOf(),
  'bot, unknown': unknown('bot', 'sbot_'),
  'bot, its token replaced': {
    held: { kind: 'bot', fault: 'revoked' },
    make: async (tenant) => {
      const { id, token } = await tenant.linkedBot()
      await tenant.console(contract.bots.regenerateToken, { botId: id })
      return { authorization: `Bearer ${token}`, botId: id }
    },
  },
  'bot, disabled': botOf({ botDisabled: true }),
  'bot, without an application': botOf({ unlinked: true }),
  ...named(botScopes, (it) => [`bot, ${it} alone`, botOf({ scopes: [it] })]),
  ...named(botScopes, (it) => [`bot, all but ${it}`, botOf({ scopes: botScopes.filter((other) => other !== it) })]),
  ...named(applicationStates, (it) => [`bot, application ${it}`, botOf({ application: it })]),

  account: { held: { kind: 'jwt' }, make: async ({ jwt }) => ({ authorization: `Bearer ${jwt}` }) },
  'account, expired': accountOf('expired', { exp: START_MS / 1000 }),
  'account, another audience': accountOf('unknown', { aud: 'voucher-shop' }),
  'account, without an end': accountOf('unknown', { exp: undefined }),
  'account, another key': accountOf('unknown', {}, new Uint8Array(32)),

  operator: fixed({ kind: 'operator' }, `Bearer ${operatorKey}`),
  'operator, unknown': unknown('operator', 'opk_'),
}

function named<T extends string>(values: readonly T[], entry: (value: T) => [string, Entry]): Record<string, Entry> {
  return Object.fromEntries(values.map(entry))
}

/** Disables the bot or changes the application as the grid entry says. Call it last: few calls succeed afterwards. */
async function spoil(tenant: Tenant, { botDisabled, application }: Held, { botId = '' }: Made): Promise<void> {
  const { appId } = tenant
  if (botDisabled) await tenant.operator(contract.platform.disableBot, { botId })
  const done = {
    disabled: () => tenant.console(contract.apps.update, { appId, status: 'disabled' }),
    suspended: () => tenant.operator(contract.platform.suspendApp, { appId }),
    featureless: () => tenant.operator(contract.platform.setAppFeatures, { appId, features: [] }),
    'encrypted only': () => tenant.console(contract.apps.update, { appId, secure_transport: 'required' }),
    'other origin': () => tenant.console(contract.apps.update, { appId, allowed_origins: ['https://shop.example'] }),
  }
  if (application !== undefined) expect((await done[application]()).status).toBe(200)
}

const isSpoiled = ({ botDisabled, application }: Held) => botDisabled === true || application !== undefined

/** Credentials by their name in the grid. All routes that refuse a credential for its kind share one credential. */
const shared = new Map<string, Promise<Made>>()
export function sharedOf(name: string, { held, make }: Entry): Promise<Made> {
  const known = shared.get(name)
  if (known !== undefined) return known
  const making = (async () => {
    const tenant = await newTenant(server)
    const made = await make(tenant)
    await spoil(tenant, held, made)
    return made
  })()
  shared.set(name, making)
  return making
}

type Input = Readonly<Record<string, unknown>>

async function inputOf({ id }: Endpoint, tenant: Tenant, botId?: string): Promise<Input> {
  const input = await (samples[id] as NonNullable<(typeof samples)[string]>)(tenant, server.deps.store)
  // A bot can write only to its own chats.
  if (!('chat_id' in input) || botId === undefined) return input
  return { ...input, chat_id: (await newChat(tenant, { id: botId })).id }
}

const absentOf = (member: string): unknown =>
  member === 'credential' ? unknownCredential() : `${member}_01ARZ3NDEKTSV4RRFFQ69G5FAV`

/** Ids of a form that no object has: they are refused like absent ones. */
const malformedIds = [
  ...['x', '', 'tpl_', '../x', '%', '%zz', '\u0000', 'é', '🎟'],
  ...["' or 1=1 --", 'x'.repeat(4_000), '__proto__'],
]

async function send(transport: Transport, request: WireRequest): Promise<ApiResponse> {
  if (transport !== 'dispatch') return (transport === 'plain' ? server : strict).send(request)
  const [path, query] = request.path.split('?', 2) as [string, string?]
  return session.call({
    method: request.method,
    path,
    ...(query === undefined ? {} : { query: Object.fromEntries(new URLSearchParams(query)) }),
    headers: request.headers ?? {},
    ...(request.body === undefined ? {} : { body: JSON.parse(String(request.body)) as unknown }),
  })
}

export const takesHead = (route: string) => route.startsWith('GET ') && !withoutHead.includes(route)

/** Credentials tested on PostgreSQL: one for each database state of the caller. */
const ofRows = [
  'none',
  'token',
  'token, revoked',
  'token, expired at this instant',
  'token, application suspended',
  'bot',
  'bot, its token replaced',
  'bot, disabled',
  'bot, without an application',
  'account',
  'operator',
]

/** Credentials that `quick` sends in plain text: one for each refusal that precedes the checks of scope and feature. */
const ofForm = [
  ...ofRows,
  ...Object.keys(entries).filter((name) => /^malformed|, unknown$|^account, expired$/.test(name)),
]

/** Routes that stand for all routes of their kind of caller: the first of each kind that names an object. */
const ofKinds = new Map(
  Object.values(rows)
    .filter(({ objects }) => Object.keys(objects).length > 0)
    .reverse()
    .map((row) => [row.caller, row]),
)

/** True for the row of a route that stands for its kind of caller. */
export const isOfKind = (row: Row | undefined): boolean => row !== undefined && ofKinds.get(row.caller) === row

const valid = ['token', 'bot', 'account', 'operator']

/**
 * The part of the authorization grid that a test file runs. `quick` sends one credential per kind of refusal in plain
 * text, and encrypted ones whose application allows another origin; `rest` sends all other combinations. What does not
 * depend on the route, `quick` tries on one route for each kind of caller: refusals for the credential alone, and whether
 * a valid credential may or must be encrypted. All routes get such calls from transport/inner.slow.test.ts and
 * failures.test.ts; operator routes, which refuse encrypted calls, from here.
 */
type Extent = 'quick' | 'rest'

const everyTransport: readonly Transport[] = ['plain', 'dispatch', 'plain, server wants encryption']

/** The transports over which `quick` or `rest` sends a credential. */
function transportsOf(name: string, { held }: Entry, row: Row, extent: Extent): readonly Transport[] {
  const isTaken = held.kind === row.caller
  const isPlainest = isTaken && valid.includes(name)
  if (onPostgres) return isPlainest || (isOfKind(row) && ofRows.includes(name)) ? ['plain'] : []
  const isOfOrigin = isTaken && name.endsWith(', application other origin')
  const isOfScope = isTaken && [`${row.scope} alone`, `all but ${row.scope}`].some((it) => name.endsWith(`, ${it}`))
  const isOfForm = ofForm.includes(name) && (isTaken || isOfKind(row) || name === 'none' || valid.includes(name))
  const plain: readonly Transport[] = isOfScope || isOfForm ? ['plain'] : []
  const isEncrypted = isPlainest && (isOfKind(row) || row.caller === 'operator')
  const quick = isEncrypted ? everyTransport : isOfOrigin ? (['dispatch'] as const) : plain
  return extent === 'quick' ? quick : everyTransport.filter((it) => !quick.includes(it))
}

const codeOf = (response: ApiResponse): string | null => (response.status < 300 ? null : response.code)

/** The parts of a response that could tell a caller whether a refused object exists. */
function seen({ status, headers: { date: _date, 'x-request-id': _id, ...headers }, sameness }: ApiResponse): string {
  return JSON.stringify([status, headers, sameness])
}

/**
 * Sends one credential to a route over the transports, for its own, foreign and absent objects. A valid one is also sent
 * in plain text for objects with a malformed id.
 * @returns responses that deviate from the authorization table
 */
async function tryAll(
  endpoint: Endpoint,
  row: Row,
  [name, entry]: [string, Entry],
  others: Others,
  transports: readonly Transport[],
): Promise<unknown[]> {
  const { held } = entry
  const isTaken = held.kind === row.caller
  // A credential with a fault is refused before it reaches an object.
  const needsOwn = isTaken && held.fault === undefined
  const tenant = needsOwn ? await newTenant(server) : others.tenant
  const made = isTaken ? await entry.make(tenant) : await sharedOf(name, entry)
  const own = needsOwn ? await inputOf(endpoint, tenant, made.botId) : others.own
  if (needsOwn) await spoil(tenant, held, made)

  const wrong: unknown[] = []
  const call = async (transport: Transport, input: Input, object: string, missing: string | null) => {
    const wire = wireOf(endpoint, input)
    const headers = {
      ...(made.authorization === null ? {} : { authorization: made.authorization }),
      ...(endpoint.idempotent ? { 'idempotency-key': freshKey() } : {}),
      ...wire.headers,
    }
    const response = await send(transport, { ...wire, headers })
    const expected = expectedCode(row, held, transport, missing)
    const statuses = expected === null ? [200, 201] : [failures[expected as FailureCode].status]
    if (codeOf(response) !== expected || !statuses.includes(response.status)) {
      wrong.push({ name, transport, object, expected, got: [response.status, codeOf(response)] })
    }
    if (expected === 'TOKEN_TYPE_NOT_ACCEPTED' && response.details.accepted !== row.caller) {
      wrong.push({ name, transport, object, details: response.details })
    }
    if (transport === 'dispatch' || !takesHead(row.route)) return seen(response)
    const head = await send(transport, { ...wire, method: 'HEAD', headers })
    if (head.status !== response.status || head.text !== '') {
      wrong.push({ name, transport, object, expected: `HEAD ${response.status}`, got: [head.status, head.text] })
    }
    return seen(response) + seen(head)
  }
  for (const transport of transports) {
    const alike: Record<string, string> = {}
    for (const [member, missing] of Object.entries(row.objects)) {
      alike[`absent ${member}`] = await call(transport, { ...own, [member]: absentOf(member) }, 'absent', missing)
      if (row.caller === 'operator') continue
      const foreign = others.foreign[member]
      alike[`foreign ${member}`] = await call(transport, { ...own, [member]: foreign }, 'foreign', missing)
      if (alike[`foreign ${member}`] !== alike[`absent ${member}`]) wrong.push({ name, transport, member, alike })
      if (!isTaken || !valid.includes(name) || transport !== 'plain' || member === 'credential') continue
      for (const id of malformedIds) {
        // With an empty id the path matches no route.
        if (id === '' && endpoint.path.includes(`:${member}`)) continue
        const refused = await call(transport, { ...own, [member]: id }, id, missing)
        if (refused !== alike[`absent ${member}`]) wrong.push({ name, member, id, refused })
      }
    }
    const refusal = expectedCode(row, held, transport, null)
    // A repeated success needs new objects; a tenant in a refused state cannot create any, and succeeds only once.
    const again = refusal === null && !isSpoiled(held) && transport !== 'plain'
    const response = await call(transport, again ? await inputOf(endpoint, tenant, made.botId) : own, 'own', null)
    if (refusal === null) continue
    if (Object.values(alike).some((it) => it !== response)) wrong.push({ name, transport, refusal, response, alike })
  }
  return wrong
}

/** What the refused credentials of one route share: their tenant, its objects, and objects of another tenant. */
interface Others {
  readonly tenant: Tenant
  readonly own: Input
  readonly foreign: Input
}

/**
 * Sends the credentials of `quick` or `rest` to one route.
 * @returns responses that deviate from the authorization table
 */
export async function tryRoute(endpoint: Endpoint, extent: Extent): Promise<unknown[]> {
  const row = rows[endpoint.id]
  if (row === undefined) throw new Error(`${endpoint.id} has no row in table.ts`)
  const tenant = await newTenant(server)
  const own = await inputOf(endpoint, tenant)
  const others = { tenant, own, foreign: await inputOf(endpoint, await newTenant(server)) }
  const wrong: unknown[] = []
  for (const [name, entry] of Object.entries(entries)) {
    const transports = transportsOf(name, entry, row, extent)
    if (transports.length > 0) wrong.push(...(await tryAll(endpoint, row, [name, entry], others, transports)))
  }
  await tenant.operator(contract.platform.clearFaults, {})
  return wrong
}
