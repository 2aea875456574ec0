import { type Endpoint, membersOf, scopes } from '../contract/endpoint.js'
import { endpointOf } from '../contract/index.js'
import type { Schema } from '../contract/schema.js'
import { templateInput } from '../contract/templates.js'
import { vouchers } from '../contract/vouchers.js'
import {
  accountsOf,
  eachNew,
  eachText,
  ID,
  type InPieces,
  isMembers,
  type Members,
  nameOf,
  type RecordedCall,
  type RecordedEvent,
} from './events.js'
import { setsWebhook } from './reasons.js'
import { snakeCase } from './values.js'

/** Records of the server by their ids, as the operator API shows them; a voucher with the events of its history. */
export type Existing = ReadonlyMap<string, Members>

const isCall = (it: RecordedEvent): it is RecordedCall => it.kind === 'call'

/** True if the server approves submissions: a call used a template or bot on which no recorded call decided. */
export function approvesAtOnce(events: readonly RecordedEvent[]): boolean {
  const submitted = new Set<unknown>()
  return events.filter(isCall).some(({ target, input, data, code }) => {
    if (code !== null) return false
    const { templateId, template_id: issued, botId, bot_id: ofChat } = input
    const review = endpointOf(target)?.review
    if (review === 'submits') submitted.add(templateId ?? (isMembers(data) ? data.id : undefined))
    else if (review === 'decides') submitted.delete(templateId ?? botId)
    else if (target === 'vouchers.issue' || target === 'bots.issue') return submitted.has(issued)
    // The owner reads a bot before its approval, too.
    else if (target !== 'bots.get' || (isMembers(data) && data.one_time_token !== undefined))
      return submitted.has(botId ?? ofChat)
    return false
  })
}

/** Ids in calls that no earlier response of the recording had. */
export async function unknownIds(events: readonly RecordedEvent[], inPieces: InPieces): Promise<string[]> {
  const known = new Set<string>()
  const found = new Set<string>()
  for await (const call of inPieces(events)) {
    if (call.kind === 'attempt' && call.botId !== null && !known.has(call.botId)) found.add(call.botId)
    if (!isCall(call)) continue
    eachText([call.input, call.applicationId, call.botId, call.voucherId], (it) => {
      // A call is about one voucher at most; others that it names need not be read.
      if (ID.test(it) && !known.has(it) && (it === call.voucherId || !it.startsWith('vch_'))) found.add(it)
    })
    eachNew(call, (it) => known.add(it))
  }
  return [...found]
}

/** Returns calls that create the records that recorded calls use or that existed before (rules/cli.md#scenarios). */
export async function preparation(
  events: readonly RecordedEvent[],
  existing: Existing,
  inPieces: InPieces,
): Promise<RecordedCall[]> {
  const calls = events.filter(isCall)
  const order = events.map((it) => ('id' in it ? it.id : ''))
  const preparing = new Preparing(existing, calls, order)
  for await (const call of inPieces(calls)) eachNew(call, (it) => preparing.later.add(it))
  for await (const call of inPieces(calls)) {
    if (call.credential !== null && call.code !== 'TOKEN_INVALID') preparing.credential(call)
    if (call.voucherId !== null) preparing.voucher(call.voucherId, call)
    // A refusal names the record that stands against the call.
    eachText([call.input, call.code === null ? null : call.data], (it) => preparing.record(it))
  }
  const types = new Map<string, Set<string>>()
  for (const it of events) {
    if (it.kind !== 'attempt' || it.botId === null || it.type === null) continue
    types.set(it.botId, (types.get(it.botId) ?? new Set()).add(it.type))
  }
  for (const [bot, received] of types) preparing.webhook(bot, [...received].sort())
  preparing.disableApps()
  return preparing.calls
}

/** An event in the history of a voucher. */
interface VoucherEvent {
  readonly type: string
  readonly at: string
  readonly request_id: string | null
  readonly idempotency_key: string | null
  readonly redemption_id: string | null
  readonly reference: string | null
  readonly reason: string | null
}

class Preparing {
  readonly calls: RecordedCall[] = []
  /** Texts of recorded responses: records that they name are not prepared. */
  readonly later = new Set<string>()
  readonly #existing: Existing
  readonly #recorded: readonly RecordedCall[]
  /** Ids of requests in the order of the recording, chosen or not. */
  readonly #order: readonly string[]
  readonly #approvesAtOnce: boolean
  readonly #done = new Set<string>()
  readonly #accounts: readonly string[]
  /** Accounts by the applications and bots that they use. */
  readonly #owners = new Map<unknown, string>()
  /** Credentials of issued vouchers, by voucher. */
  readonly #credentials = new Map<string, unknown[]>()

  constructor(existing: Existing, recorded: readonly RecordedCall[], order: readonly string[]) {
    this.#order = order
    this.#existing = existing
    this.#recorded = recorded
    this.#approvesAtOnce = approvesAtOnce(recorded)
    this.#accounts = accountsOf(recorded)
    for (const { code, accountId, input } of recorded) {
      if (code !== null || accountId === null) continue
      for (const id of [input.appId, input.botId]) if (!this.#owners.has(id)) this.#owners.set(id, accountId)
    }
    // A bot and its application have the same owner.
    for (const [id, { application_id: appId }] of existing) {
      const owner = this.#owners.get(appId) ?? this.#owners.get(id)
      if (appId != null && owner !== undefined) this.#owners.set(id, owner).set(appId, owner)
    }
  }

  record(id: string): void {
    const record = this.#existing.get(id)
    if (record === undefined || this.later.has(id) || this.#done.has(id)) return
    this.#done.add(id)
    if (id.startsWith('app_')) this.#add('apps.create', { name: record.name }, { id })
    else if (id.startsWith('tpl_')) this.#template(id, record)
    else if (id.startsWith('bot_')) this.#bot(id, record)
    else if (id.startsWith('chat_')) {
      this.record(String(record.bot_id))
      this.#add('platform.createChat', { bot_id: record.bot_id, user_id: record.user_id, type: record.type }, { id })
    }
  }

  credential({ caller, credential, applicationId, accountId, botId }: RecordedCall): void {
    const name = credential as string
    if (this.later.has(name) || this.#done.has(name)) return
    if (accountId !== null) {
      if (this.#accounts.length > 0) this.#jwt(accountId)
    } else if (caller === 'token' && applicationId !== null) {
      if (name === nameOf(applicationId)) this.record(applicationId)
      else this.#token(name, applicationId)
    } else if (caller === 'bot' && botId !== null && this.#existing.has(botId) && !this.later.has(botId)) {
      this.#done.add(name)
      this.record(botId)
      this.#add('bots.get', { botId }, { one_time_token: name })
    }
  }

  /** Issues a voucher again, and repeats what happened to it before a recorded call. */
  voucher(id: string, call: RecordedCall): void {
    const { credential } = call.input
    const record = this.#existing.get(id)
    if (record === undefined || this.later.has(id)) return
    const named = isMembers(credential) ? [credential] : []
    const known = this.#credentials.get(id)
    if (known !== undefined) return void known.push(...named)
    const events = (record.events ?? []) as readonly VoucherEvent[]
    const issued = events.find((it) => it.type === 'issued')
    if (issued !== undefined && !this.#isBefore(issued, call)) return
    const credentials: unknown[] = named.length > 0 ? named : [{ type: 'redeem_code', value: nameOf(id) }]
    this.#credentials.set(id, credentials)
    this.record(String(record.templateId))
    const token = this.#tokenOf(String(record.applicationId))
    const issue = inputFrom(vouchers.issue.body, record)
    this.#again('vouchers.issue', issued, issue, { id, credentials }, token)
    for (const event of events.filter((it) => this.#isBefore(it, call))) {
      const { type, redemption_id: redemptionId, reference, reason } = event
      const redeem = { credential: credentials[0], ...(reference !== null && { reference }) }
      if (type === 'redeemed') this.#again('vouchers.redeem', event, redeem, { id: redemptionId }, token)
      const reverse = { redemptionId, ...(reason !== null && { reason }) }
      if (type === 'reversed') this.#again('vouchers.reverse', event, reverse, {}, token)
    }
  }

  #isBefore({ request_id: id, at }: VoucherEvent, call: RecordedCall): boolean {
    if (this.#recorded.some((it) => it.id === id)) return false
    const place = this.#order.indexOf(id ?? '')
    if (place >= 0) return place < this.#order.indexOf(call.id)
    return at <= call.at
  }

  /** Repeats a call of a voucher's history; a recorded replay has the same input. */
  #again(target: string, event: VoucherEvent | undefined, input: Members, data: Members, token: string): void {
    const key = event?.idempotency_key ?? undefined
    const replay = this.#recorded.find((it) => it.target === target && key !== undefined && it.key === key && !it.code)
    this.#add(target, replay?.input ?? input, data, token, key)
  }

  /** Disables applications that were disabled before, after all calls that need them. */
  disableApps(): void {
    for (const id of this.#done) {
      if (this.#existing.get(id)?.status !== 'disabled') continue
      const isChanged = this.#recorded.some(({ input }) => input.appId === id && input.status !== undefined)
      if (!isChanged) this.#add('apps.update', { appId: id, status: 'disabled' }, {})
    }
  }

  /** @param types of updates that the recording received */
  webhook(botId: string, types: readonly string[]): void {
    if (!this.#existing.has(botId) || this.later.has(botId)) return
    const set = this.#recorded.filter(
      (it) => setsWebhook(it) && it.code === null && [it.input.botId, it.botId].includes(botId),
    )
    // Without allowed updates, a recorded call keeps those from before.
    const isChosen = set.some((it) => it.input.allowed_updates !== undefined)
    if (isChosen || (set.length > 0 && !types.some((it) => it.startsWith('voucher_')))) return
    this.record(botId)
    this.#add('webhook.set', { botId, url: '', allowed_updates: types }, {})
  }

  #template(id: string, record: Members): void {
    const { applicationId, botId, status } = record
    const input = { ...inputFrom(templateInput, record), validity: validityInput(record.validity as Members) }
    const isOfBot = applicationId === null && typeof botId === 'string'
    if (isOfBot) this.record(botId)
    const token = isOfBot ? null : this.#tokenOf(String(applicationId))
    const [group, owner] = isOfBot ? (['bots', { botId }] as const) : (['templates', {}] as const)
    this.#add(isOfBot ? 'bots.createTemplate' : 'templates.create', { ...owner, ...input }, { id }, token)
    if (status === 'draft' || this.#isReviewed(id, 'submits')) return
    const submit = group === 'bots' ? 'bots.submitTemplate' : 'templates.submit'
    this.#add(submit, { ...owner, templateId: id }, {}, token)
    if (this.#isReviewed(id, 'decides')) return
    const refused = { code: record.rejectionCode, reason: record.rejectionReason }
    if (status === 'rejected') this.#add('platform.rejectTemplate', { templateId: id, ...refused }, {})
    else if (status === 'active' && !this.#approvesAtOnce) this.#add('platform.approveTemplate', { templateId: id }, {})
  }

  #bot(id: string, { name, username, scopes: own, review_status, application_id: appId }: Members): void {
    this.#add('bots.apply', { name, username, scopes: own }, { id })
    const isApproved = review_status === 'approved' && !this.#isReviewed(id, 'decides')
    if (isApproved && !this.#approvesAtOnce) this.#add('platform.approveBot', { botId: id }, {})
    if (typeof appId !== 'string' || this.#happens(id, (it) => it === 'apps.linkBot' || it === 'apps.unlinkBot')) return
    this.record(appId)
    this.#add('apps.linkBot', { appId, botId: id }, {})
  }

  #isReviewed(id: string, review: Endpoint['review']): boolean {
    return this.#happens(id, (target) => endpointOf(target)?.review === review)
  }

  /** True if a recorded call does this to a template or bot; the record shows its state after that. */
  #happens(id: string, does: (target: string) => boolean): boolean {
    return this.#recorded.some(
      ({ target, input, code }) => does(target) && [input.templateId, input.botId].includes(id) && code === null,
    )
  }

  /** Returns a token of an application, and creates one if there is none before the first recorded call. */
  #tokenOf(appId: string): string {
    const own = this.calls.find((it) => it.target === 'tokens.create' && it.input.appId === appId)
    if (own !== undefined) return (own.data as { token: string }).token
    const name = nameOf(appId)
    this.#token(name, appId)
    return name
  }

  #token(name: string, appId: string): void {
    this.#done.add(name)
    this.record(appId)
    this.#add('tokens.create', { appId, name: 'recorded', scopes: [...scopes] }, { token: name })
  }

  /** Returns the JWT of an account; null for the scenario's account. */
  #jwt(account = this.#accounts[0]): string | null {
    if (account === undefined) return null
    const name = nameOf(account)
    if (this.#done.has(name)) return name
    this.#done.add(name)
    this.#add('platform.issueAccountToken', { accountId: account }, { jwt: name })
    return name
  }

  #add(target: string, input: Members, data: Members, given: string | null = null, key?: string): void {
    const { method, caller } = endpointOf(target) as Endpoint
    const owner = this.#owners.get(input.appId ?? input.botId ?? data.id)
    const credential = caller === 'jwt' ? this.#jwt(owner) : given
    const unset = { at: '', status: null, code: null, replayed: false, fault: null }
    const ids = { id: '', applicationId: null, accountId: null, botId: null, voucherId: null }
    this.calls.push({ kind: 'call', target, method, caller, input, credential, data, key, ...unset, ...ids })
  }
}

/** Members of an input that the record of its result still has. */
function inputFrom(body: Schema, record: Members): Members {
  const camel = (name: string) => name.replace(/_[a-z]/g, (it) => it.charAt(1).toUpperCase())
  const isSet = (it: unknown) => it != null && !(isMembers(it) && Object.keys(it).length === 0)
  const all = Object.keys(membersOf(body)).map((name) => [name, record[camel(name)]] as const)
  return Object.fromEntries(all.filter(([, it]) => isSet(it)))
}

function validityInput(validity: Members): Members {
  return Object.fromEntries(
    Object.entries(validity).flatMap(([name, it]) => (it === null ? [] : [[snakeCase(name), it]])),
  )
}
