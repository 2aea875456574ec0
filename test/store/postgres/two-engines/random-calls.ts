import {
  botScopes,
  type CredentialKind,
  type Endpoint,
  isRuntime,
  membersOf,
  scopes,
} from '../../../../src/contract/endpoint.js'
import { contract, endpoints } from '../../../../src/contract/index.js'
import { Random } from '../../../faults/random.js'
import type { Sometimes } from '../../../faults/sometimes.js'
import { type ApiResponse, type WireRequest, wireOf } from '../../../support/server/client.js'
import { botBody, templateBody } from '../../../support/server/tenant.js'
import type { EnginePair } from './engine-pair.js'
import { type Kind, KnownObjects } from './known-objects.js'
import { malformed } from './malformed.js'
import { accounts, randomInput } from './random-input.js'

/** How often an endpoint is called, relative to the others; 1 if it is not named. */
const WEIGHTS: Readonly<Record<string, number>> = {
  'apps.create': 0.3,
  'vouchers.issue': 14,
  'vouchers.redeem': 14,
  'vouchers.reverse': 9,
  'vouchers.verify': 5,
  'vouchers.redemption': 3,
  'bots.issue': 6,
  'bots.send': 4,
  'bots.updates': 6,
  'bots.get': 4,
  'bots.apply': 2,
  'templates.create': 3,
  'templates.submit': 5,
  'platform.approveTemplate': 6,
  'platform.rejectTemplate': 2,
  'platform.approveBot': 3,
  'platform.enableBot': 4,
  'platform.disableBot': 0.7,
  'platform.reinstateApp': 3,
  'platform.suspendApp': 0.3,
  'platform.unblockChat': 2,
  'platform.createChat': 4,
  'platform.sendAsUser': 4,
  'platform.addUpdate': 4,
  'platform.advanceClock': 4,
  'platform.addFault': 0.7,
  'platform.clearFaults': 2,
  'platform.rotateSecureKeys': 0.2,
  'platform.reset': 0.15,
  'platform.restoreSnapshot': 0.5,
  'apps.linkBot': 4,
  'apps.unlinkBot': 0.5,
  'bots.createTemplate': 2,
  'tokens.revoke': 0.5,
  'webhook.set': 3,
  'webhook.delete': 0.7,
  'webhook.retry': 3,
  'webhook.deliveries': 3,
}

const weighted: readonly Endpoint[] = endpoints.flatMap((it) =>
  Array.from({ length: Math.ceil((WEIGHTS[it.id] ?? 1) * 20) }, () => it),
)

/** Days by which the clock jumps: to, before and after the ends of validities, retentions and windows. */
const JUMP_DAYS = [1, 1, 2, 7, 30, 31, 60, 91]
const DAY_SECONDS = 86_400
const HOUR_MS = 3_600_000

/** Calls that may run concurrently: each concerns objects of one application only. */
const voucherWrites = [contract.vouchers.issue, contract.vouchers.redeem, contract.vouchers.reverse]

/** Calls that clients may send encrypted. */
const runtimeEndpoints = endpoints.filter(isRuntime)

const OTHER_PATHS = ['/healthz', '/readyz', '/api/v1/unknown', '/']

/** A poll waits so long only if the call that should end it is refused. */
const POLL_SECONDS = 2

/** The kind of object that a call of an application needs. */
function neededBy({ path, body }: Endpoint): Kind | undefined {
  if (path.includes(':redemptionId')) return 'rdm'
  const members = membersOf(body)
  if ('credential' in members) return 'credential'
  return path.includes(':templateId') || 'template_id' in members ? 'tpl' : undefined
}

const REMEMBERED = 40

interface Caller {
  readonly credential: string | undefined
  readonly accountId?: string | undefined
  readonly appId?: string | undefined
  readonly botId?: string | undefined
}

interface Call extends Caller {
  readonly endpoint: Endpoint
  readonly input: Readonly<Record<string, unknown>>
  readonly request: WireRequest
}

/** Sends seeded random calls of the whole API to a pair of servers; later calls use what earlier ones returned. */
export class RandomCalls {
  #known = new KnownObjects()
  readonly #saved = new Map<string, KnownObjects>()
  /** Latest calls with an idempotency key. */
  #repeatable: Call[] = []
  readonly #random: Random
  #keys = 0

  constructor(
    readonly pair: EnginePair,
    readonly reached: Sometimes,
  ) {
    this.#random = new Random(pair.seed)
  }

  /** Creates two accounts, each with an application, templates, a bot and a chat. */
  async begin(): Promise<void> {
    for (const accountId of accounts.slice(0, 2)) {
      await this.#call(contract.platform.issueAccountToken, { accountId, expires_in_seconds: 31_536_000 })
      const { id: appId } = await this.#call(contract.apps.create, { name: 'Shop' }, { accountId })
      await this.#call(
        contract.tokens.create,
        { appId, name: 'till', scopes: [...scopes], expires_in_days: null },
        { accountId },
      )
      const at = (days: number) => new Date(this.pair.now() + days * DAY_SECONDS * 1_000).toISOString()
      const validities = [
        { type: 'relative', duration_days: 30 },
        { type: 'relative', duration_days: 7, delay_days: 1 },
        { type: 'fixed', starts_at: at(-10), ends_at: at(20) },
      ] as const
      for (const [index, validity] of validities.entries()) {
        const body = {
          ...templateBody({ validity, issue_limit: 4 ** (index + 1) }),
          external_template_id: `first-${index}`,
        }
        const { id: templateId } = await this.#call(contract.templates.create, body, { appId })
        await this.#call(contract.templates.submit, { templateId }, { appId })
        await this.#call(contract.platform.approveTemplate, { templateId })
      }
      const { id: botId } = await this.#call(
        contract.bots.apply,
        botBody({ username: `first_${accountId.replace('-', '_')}`, scopes: [...botScopes] }),
        { accountId },
      )
      await this.#call(contract.platform.approveBot, { botId })
      await this.#call(contract.bots.get, { botId }, { accountId })
      await this.#call(contract.apps.linkBot, { appId, botId }, { accountId })
      await this.#call(contract.platform.createChat, { bot_id: botId, user_id: 'user-1' })
    }
  }

  /** Makes one random step: a call, concurrent calls, a poll that waits, or work in the background. */
  async step(): Promise<void> {
    const random = this.#random
    if (random.chance(0.6)) this.pair.advance(random.between(1, 1_500))
    const kind = random.below(100)
    if (kind < 6) return this.#work()
    if (kind < 9) return this.#concurrently()
    if (kind < 12) return this.#waitingPoll()
    if (kind < 17) return this.#repeat()
    if (kind < 18) return void (await this.pair.send({ method: 'GET', path: random.pick(OTHER_PATHS) }))
    if (kind < 22) return this.#sealed()
    await this.#send(this.#make(random.pick(weighted)))
  }

  /** Works in the background, sometimes over the hours in which a delivery is retried. */
  async #work(): Promise<void> {
    const rounds = this.#random.chance(0.2) ? 6 : 1
    for (let round = 0; round < rounds; round++) {
      if (rounds > 1) this.pair.advance(HOUR_MS + 1)
      await this.pair.work()
    }
  }

  async #sealed(): Promise<void> {
    const call = this.#make(this.#random.pick(runtimeEndpoints))
    const response = await this.pair.send(call.request, true)
    await this.#take(call, response)
    if (response.status === call.endpoint.status) this.reached.note('an encrypted call succeeded')
  }

  async #repeat(): Promise<void> {
    const earlier = this.#random.pick(this.#repeatable)
    if (earlier === undefined) return
    const response = await this.#send(earlier)
    if (response.headers['idempotent-replayed'] === 'true') this.reached.note('an idempotent call was replayed')
  }

  /** Sends reads, or calls that write to different applications: their results depend on no order. */
  async #concurrently(): Promise<void> {
    const random = this.#random
    if (random.chance(0.5)) {
      const reads = endpoints.filter(
        ({ method, streams, id }) => method === 'GET' && !streams && !ORDERED_READS.has(id),
      )
      const calls = Array.from({ length: 4 }, () => this.#make(random.pick(reads)))
      await this.#sendAll(calls)
      return
    }
    const byApp = new Map<string, Call>()
    for (let tries = 0; tries < 6; tries++) {
      const call = this.#make(random.pick(voucherWrites))
      if (call.appId !== undefined) byApp.set(call.appId, call)
    }
    const responses = await this.#sendAll([...byApp.values()])
    const applied = responses.filter(({ status }) => status < 300).length
    if (applied > 1) this.reached.note('concurrent calls of two applications took effect')
  }

  /** Lets a poll wait, sometimes tries to set a webhook meanwhile, and ends the poll by an update or a newer poll. */
  async #waitingPoll(): Promise<void> {
    const random = this.#random
    const caller = this.#callerOf('bot')
    const { botId } = caller
    if (botId === undefined) return
    const make = (endpoint: Endpoint, input: Record<string, unknown>, by: Caller) => this.#callOf(endpoint, input, by)
    const offset = this.#known.offsets.get(botId) ?? 1
    const poll = make(contract.bots.updates, { offset, timeout: POLL_SECONDS, allowed_updates: ['ping'] }, caller)
    const response = await this.pair.poll(poll.request, async () => {
      this.reached.note('a poll waited')
      if (random.chance(0.4)) {
        const url = 'https://hooks.example.com/hook'
        await this.#send(make(contract.webhook.setByBot, { url }, caller))
      }
      if (random.chance(0.5)) {
        const operator = { credential: this.pair.operatorKey }
        const added = await this.#send(make(contract.platform.addUpdate, { botId, type: 'ping' }, operator))
        if (added.status === 200) return
      }
      await this.#send(make(contract.bots.updates, { offset, timeout: 0 }, caller))
    })
    this.#note(poll, response)
  }

  #make(endpoint: Endpoint): Call {
    const random = this.#random
    const caller = this.#callerOf(endpoint.caller, endpoint)
    const { accountId, appId, botId } = caller
    const input = randomInput(endpoint, { random, known: this.#known, now: this.pair.now(), accountId, appId, botId })
    if (endpoint.id === 'platform.advanceClock' && random.chance(0.5)) {
      input.seconds = random.pick(JUMP_DAYS) * DAY_SECONDS + random.between(-1, 1)
    }
    const call = this.#callOf(endpoint, input, caller)
    return random.chance(0.05) ? { ...call, request: malformed(endpoint, call.request, random) } : call
  }

  #callOf(endpoint: Endpoint, input: Record<string, unknown>, caller: Caller): Call {
    const random = this.#random
    const wire = wireOf(endpoint, input)
    const sendsKey = endpoint.idempotent === true || (endpoint.idempotent === 'optional' && random.chance(0.7))
    const headers = {
      ...(caller.credential === undefined ? {} : { authorization: `Bearer ${caller.credential}` }),
      ...(sendsKey ? { 'idempotency-key': this.#key(caller) } : {}),
      ...wire.headers,
    }
    return { ...caller, endpoint, input, request: { ...wire, headers } }
  }

  /** A new idempotency key, sometimes one of another call of the same application. */
  #key({ appId }: Caller): string {
    const used = this.#repeatable.filter((it) => it.appId === appId)
    const reused = this.#random.chance(0.06) ? this.#random.pick(used) : undefined
    return reused?.request.headers?.['idempotency-key'] ?? `key-${this.#keys++}`
  }

  /** A caller of the kind, sometimes one whose credential was revoked or is of another kind. */
  #callerOf(kind: CredentialKind, endpoint?: Endpoint): Caller {
    const namesBot = endpoint?.path.includes(':botId') === true
    const random = this.#random
    const known = this.#known
    if (random.chance(0.01)) return { credential: known.find(random.pick(['token', 'jwt', 'bot token']), random) }
    switch (kind) {
      case 'operator': {
        const botId = known.find('bot', random)
        return { credential: this.pair.operatorKey, botId: namesBot ? botId : undefined }
      }
      case 'jwt': {
        const accountId = random.pick(accounts)
        const credential = known.find('jwt', random, accountId) ?? known.find('jwt', random)
        const owner = known.ownerOf('jwt', credential ?? '')
        const botId = known.find('bot', random, owner)
        const appId = (namesBot && botId !== undefined && known.links.get(botId)) || known.find('app', random, owner)
        return { credential, accountId: owner, appId, botId: namesBot && random.chance(0.9) ? botId : undefined }
      }
      case 'token': {
        const needed = endpoint === undefined ? undefined : neededBy(endpoint)
        const object = needed === undefined ? undefined : known.find(needed, random)
        const owner = object === undefined ? undefined : known.ownerOf(needed as Kind, object)
        const credential = known.find('token', random, owner) ?? known.find('token', random)
        return { credential, appId: known.ownerOf('token', credential ?? '') }
      }
      case 'bot': {
        const credential = known.find('bot token', random)
        const botId = known.ownerOf('bot token', credential ?? '')
        return { credential, botId, appId: known.links.get(botId) }
      }
    }
  }

  /** Sends a call of the beginning, which must succeed. */
  async #call(endpoint: Endpoint, input: Record<string, unknown>, of: Caller | object = {}): Promise<{ id: string }> {
    const known = this.#known
    const caller: Caller = { credential: this.pair.operatorKey, ...of }
    if (caller.accountId !== undefined) {
      Object.assign(caller, { credential: known.find('jwt', this.#random, caller.accountId) })
    } else if (caller.appId !== undefined) {
      Object.assign(caller, { credential: known.find('token', this.#random, caller.appId) })
    }
    return (await this.#send(this.#callOf(endpoint, input, caller))).data as { id: string }
  }

  /** Sends calls concurrently, and learns from their responses in the order of the calls. */
  async #sendAll(calls: readonly Call[]): Promise<readonly ApiResponse[]> {
    const responses = await Promise.all(calls.map(({ request }) => this.pair.send(request)))
    for (const [index, response] of responses.entries()) await this.#take(calls[index] as Call, response)
    return responses
  }

  async #send(call: Call): Promise<ApiResponse> {
    const response = await this.pair.send(call.request)
    await this.#take(call, response)
    return response
  }

  /** Counts a response and remembers what it has shown. */
  async #take(call: Call, response: ApiResponse): Promise<void> {
    if (call.request.headers?.['idempotency-key'] !== undefined) {
      this.#repeatable = [...this.#repeatable, call].slice(-REMEMBERED)
    }
    this.#note(call, response)
    const code = codeOf(call.endpoint, response)
    const isUseless = code === 'TOKEN_REVOKED' || code === 'TOKEN_EXPIRED'
    if (isUseless && this.#random.chance(0.5)) this.#known.forget(call.credential ?? '')
    await this.#learn(call, response)
  }

  #note({ endpoint }: Call, response: ApiResponse): void {
    const code = codeOf(endpoint, response)
    this.reached.note(code === null ? `${endpoint.id} succeeded` : code)
    for (const status of ['dead_letter', 'cancelled', 'expired', 'suspended', 'reversed']) {
      if (response.text.includes(`"status":"${status}"`)) this.reached.note(`a response showed the status ${status}`)
    }
    if (response.text.includes('"pagination":{"page":2')) this.reached.note('a second page was read')
  }

  async #learn(
    { endpoint, input, accountId = '', appId = '', botId = '' }: Call,
    response: ApiResponse,
  ): Promise<void> {
    if (response.status < 200 || response.status >= 300 || endpoint.streams) return
    const known = this.#known
    const data = response.data as Record<string, unknown>
    const text = (value: unknown) => (typeof value === 'string' ? value : '')
    known.learn(data, (kind, within) => {
      if (kind === 'app' || kind === 'bot') return accountId
      if (kind === 'chat' || kind === 'dlv') return text(within.bot_id) || botId || text(input.botId)
      if (kind === 'flt') return 'operator'
      return text(within.applicationId) || text(within.application_id) || text(input.appId) || appId
    })
    switch (endpoint.id) {
      case 'platform.issueAccountToken':
        return known.add('jwt', text(data.jwt), text(input.accountId))
      case 'tokens.create':
        return known.add('token', text(data.token), text(input.appId))
      case 'bots.get':
      case 'bots.regenerateToken':
        if (data.one_time_token !== undefined) known.add('bot token', text(data.one_time_token), text(input.botId))
        return
      case 'apps.linkBot':
        known.links.set(text(input.botId), text(input.appId))
        return
      case 'apps.unlinkBot':
        known.links.delete(text(input.botId))
        return
      case 'vouchers.issue':
      case 'bots.issue':
        for (const { type, value } of data.credentials as { type: string; value: string }[]) {
          known.add('credential', JSON.stringify({ type, value }), text(data.applicationId))
        }
        return
      case 'bots.updates': {
        const last = (data.items as { update_id: number }[]).at(-1)
        if (last !== undefined) known.offsets.set(botId, last.update_id + 1)
        return
      }
      case 'platform.saveSnapshot':
        this.#saved.set(text(input.name), known.copy())
        return
      case 'platform.restoreSnapshot':
        this.#known = this.#saved.get(text(input.name))?.copy() ?? known
        this.#repeatable = []
        return
      case 'platform.reset':
        this.#known = new KnownObjects()
        this.#repeatable = []
        return this.begin()
    }
  }
}

/** The failure code; null for a success, which may be a stream. */
const codeOf = ({ streams }: Endpoint, response: ApiResponse) =>
  streams && response.status === 200 ? null : response.code

/** Reads whose responses depend on their order: a token is shown once, a poll confirms updates, two count other calls. */
const ORDERED_READS = new Set(['bots.get', 'bots.updates', 'tokens.list', 'bots.metrics'])
