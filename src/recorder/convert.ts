import { type CredentialKind, scopes } from '../contract/endpoint.js'
import {
  accountsOf,
  eachNew,
  eachText,
  ID,
  isMembers,
  type Members,
  NAME,
  nameOf,
  type RecordedCall,
  type RecordedEvent,
  uniqueMembers,
} from './events.js'
import { type Known, reasonAgainst, setsWebhook } from './reasons.js'
import { changes, durationOf, jqOf, snakeCase } from './values.js'

/** A step under construction; `members` are written to the file, without `capture` and `use`. */
export interface DraftStep {
  /** Reasons why lines before it became no step, and remarks. */
  readonly comments: string[]
  readonly members: Record<string, unknown>
  readonly capture: Record<string, string>
  readonly use: Partial<Record<CredentialKind, string>>
}

/** Where an id or a secret comes from. */
interface Source {
  readonly step: DraftStep
  readonly jq: string
  variable?: string
}

/** Groups of endpoints whose records have a state that a step can expect. */
const statefulGroups: readonly (string | undefined)[] = ['vouchers', 'templates', 'bots', 'platform']
const changesFaults = ['platform.addFault', 'platform.removeFault', 'platform.clearFaults', 'platform.releaseCalls']

/** Length of a separator and `${run}`. */
const RUN_LENGTH = 13

/** Kinds of credentials, by the place in the response that brings them. */
const kindsByPath: Readonly<Record<string, CredentialKind>> = {
  '.token': 'token',
  '.one_time_token': 'bot',
  '.jwt': 'jwt',
}

export const isSuccess = ({ status }: RecordedCall) => status !== null && status < 300

/** Turns calls and attempts, in their order, into steps. */
export class Converter {
  readonly #steps: DraftStep[] = []
  readonly #calls = new Map<DraftStep, RecordedCall>()
  readonly #sources = new Map<string, Source>()
  readonly #variables = new Set(['run'])
  readonly #known: Known = {
    calls: () => [...this.#calls.values()],
    originOf: (text) => {
      const source = this.#sources.get(text)
      if (source === undefined) return undefined
      return this.#calls.get(source.step)?.at === '' ? 'prepared' : 'recorded'
    },
    // The account of a scenario, and the operator, need no step.
    hasCredential: (call) =>
      this.#sourceOf(call) !== undefined ||
      call.caller === 'operator' ||
      (call.caller === 'jwt' && call.code !== 'TOKEN_TYPE_NOT_ACCEPTED' && !this.#logsIn),
  }
  readonly #credentials = new Map<CredentialKind, string>()
  /** Kinds of the named credentials, by calls that accepted them. */
  readonly #kinds = new Map<string, CredentialKind>()
  /** Applications as which the operator makes calls. */
  readonly #operated = new Set<string>()
  readonly #keys = new Map<string, number>()
  readonly #sentKeys = new Map<string, string>()
  readonly #environment = new Map<string, string>()
  /** Deliveries that the receiver has accepted. */
  readonly #delivered = new Set<string>()
  readonly #respond: (number | 'timeout')[] = []
  /** True if a login is a step: the account of a scenario is logged in. */
  readonly #logsIn: boolean
  #hasWebhook = false
  #comments: string[] = []

  constructor(events: readonly RecordedEvent[]) {
    for (const it of events) {
      if (it.kind !== 'call') continue
      if (it.key !== undefined) this.#keys.set(it.key, (this.#keys.get(it.key) ?? 0) + 1)
      if (it.applicationId !== null && it.credential === nameOf(it.applicationId)) this.#operated.add(it.applicationId)
      if (isSuccess(it) && it.credential !== null) this.#kinds.set(it.credential, it.caller)
    }
    this.#logsIn = accountsOf(events).length > 0
  }

  get result() {
    const fails = this.#respond.some((it) => it === 'timeout' || it >= 300)
    const respond = fails ? this.#respond.join(',').replace(/(,200)+$/, ',200') : undefined
    return { steps: this.#steps, comments: this.#comments, respond }
  }

  note(text: string): void {
    this.#comments.push(text)
  }

  advance(seconds: number): void {
    const whole = seconds > 1 ? Math.round(seconds) : seconds
    if (whole > 0) this.#add({ advance: durationOf(whole) })
  }

  receive({ id, type, status, isReplay, body, at }: Extract<RecordedEvent, { kind: 'attempt' }>): void {
    const label = `A delivery of ${type ?? 'an unknown type'} at ${at}`
    if (type === null) return this.note(`${label}: a step cannot wait for it.`)
    if (isReplay) return this.note(`${label}: the operator replayed it, which has no step.`)
    if (status === null) return this.note(`${label}: no receiver responded; the receiver of a scenario always does.`)
    if (!this.#hasWebhook) return this.note(`${label}: no call set its webhook.`)
    if (this.#delivered.has(id)) return this.note(`${label}: a receiver passes over what it has accepted.`)
    if (status !== 'timeout' && status < 300) this.#delivered.add(id)
    this.#respond.push(status)
    const that: string[] = []
    eachText(body, (text, path) => {
      const source = ID.test(text) ? this.#sources.get(text) : undefined
      if (source?.variable !== undefined && that.length === 0) that.push(`${jqOf(path)} == \${${source.variable}}`)
    })
    this.#add({ receive: type, within: '10s', ...(that.length === 0 ? {} : { expect: { that: that[0] } }) })
  }

  call(call: RecordedCall): void {
    const { target, input, data, at } = call
    const reason = at === '' ? undefined : reasonAgainst(call, this.#known)
    if (reason !== undefined)
      return this.note(`${target}${at && ` at ${at}`} (${call.code ?? call.status}): ${reason}.`)
    // Each affected call gets its own fault: which calls a recorded fault affects can depend on chance and on bodies.
    if (changesFaults.includes(target) && isSuccess(call)) return
    if (target === 'platform.issueAccountToken' && !this.#logsIn) return
    if (setsWebhook(call) && isSuccess(call) && this.#hasWebhook && target === 'platform.borrowWebhook') return
    if (this.#isPoll(call)) return this.#repeat(call)
    this.#plant(call)
    eachText(input, (it) => /^\d{4}-\d\d-\d\dT/.test(it) && this.note(`The time ${it} stays the same in each run.`))
    const as = this.#credentialOf(call)
    const step = this.#add({
      call: target === 'platform.borrowWebhook' ? 'webhook.set' : target,
      ...(as === undefined ? {} : { as }),
      ...this.#inputOf(call),
      ...this.#keyOf(call),
      expect: this.#expectationOf(call),
    })
    this.#calls.set(step, call)
    eachNew(call, (text, path) => this.#learn(text, { step, jq: jqOf(path, data) }))
    if (target === 'apps.create') this.#createToken(call)
  }

  /** Plants the fault that affected a call. A silent or hanging call would last until the time limit of its client. */
  #plant({ target, fault, status, code }: RecordedCall): void {
    if (fault === null) return
    const kind = fault === 'silence' ? 'drop_response' : fault === 'hang' ? 'refuse_connection' : fault
    const members = fault === 'status' ? { status, ...(code !== null && { code }) } : {}
    this.#add({ call: 'platform.addFault', with: { endpoint: target, kind, times: 1, ...members } })
  }

  /** True for a read that repeats the last step. */
  #isPoll(call: RecordedCall): boolean {
    const last = this.#steps.at(-1)
    const before = last && this.#calls.get(last)
    if (call.method !== 'GET' || before === undefined || this.#comments.length > 0) return false
    const sameCall = before.target === call.target && before.credential === call.credential
    return (
      sameCall && isSuccess(call) && isSuccess(before) && JSON.stringify(before.input) === JSON.stringify(call.input)
    )
  }

  /** Makes one step of a poll, which waits for what changed last. */
  #repeat(call: RecordedCall): void {
    const step = this.#steps.at(-1) as DraftStep
    const changed = changes((this.#calls.get(step) as RecordedCall).data, call.data)
    this.#calls.set(step, call)
    for (const [text, source] of this.#sources)
      if (source.step === step && source.variable === undefined) this.#sources.delete(text)
    eachNew(call, (text, path) => this.#learn(text, { step, jq: jqOf(path, call.data) }))
    if (changed === undefined) return
    const { expect } = step.members
    delete step.members.expect
    Object.assign(step.members, { within: '10s', expect: { ...(expect as Members), data: changed } })
  }

  #learn(text: string, source: Source): void {
    if (!this.#sources.has(text)) this.#sources.set(text, source)
  }

  /** Selects the credential of a call by `use` of an earlier step. Returns `as` if the call needs it. */
  #credentialOf(call: RecordedCall): string | undefined {
    const { caller, credential, code, target } = call
    if (caller === 'operator' && code === null) return undefined
    if (credential === null) return code === 'TOKEN_MISSING' || target.includes(' ') ? 'none' : undefined
    const source = this.#sourceOf(call)
    const kind = this.#kinds.get(credential) ?? kindsByPath[source?.jq ?? ''] ?? caller
    const base = { token: 'token', bot: 'bot_token', jwt: 'jwt', operator: 'operator' }[kind]
    const isOwn = kind === 'operator' || (kind === 'jwt' && source === undefined)
    const wanted = source === undefined ? 'unknown' : `\${${this.#variableOf(source, base)}}`
    if (!isOwn && this.#credentials.get(kind) !== wanted) this.#use(kind, wanted, source?.step)
    return kind === caller && !target.includes(' ') ? undefined : kind
  }

  /** Finds where the credential of a call comes from; undefined for the scenario's account, or if unknown. */
  #sourceOf({ credential, accountId }: RecordedCall): Source | undefined {
    return credential === null
      ? undefined
      : (this.#sources.get(credential) ?? this.#sources.get(nameOf(String(accountId))))
  }

  /** Creates a token for calls of the operator as an application: its programs' tokens may lack scopes, or end. */
  #createToken({ credential, accountId, data }: RecordedCall): void {
    const id = isMembers(data) ? String(data.id) : ''
    if (!this.#operated.has(id)) return
    const input = { appId: id, name: 'operator', scopes: [...scopes] }
    const unset = { at: '', id: '', status: null, code: null, replayed: false, fault: null, key: undefined }
    const by = { credential, accountId, applicationId: null, botId: null, voucherId: null }
    const made = { target: 'tokens.create', method: 'POST', caller: 'jwt', data: { token: nameOf(id) } } as const
    this.call({ kind: 'call', ...made, input, ...unset, ...by })
  }

  /** Adds `use` to the earliest step after which no other credential of the kind is used. */
  #use(kind: CredentialKind, text: string, source: DraftStep | undefined): void {
    let holder: DraftStep | undefined
    for (const step of this.#steps.toReversed()) {
      const call = this.#calls.get(step)
      if (call === undefined ? 'receive' in step.members : isSuccess(call) || call.at === '') holder = step
      if (step === source || call?.caller === kind) break
    }
    holder ??= this.#add({ call: 'platform.totals' })
    holder.use[kind] = text
    this.#credentials.set(kind, text)
  }

  #inputOf(call: RecordedCall): { with?: unknown } {
    if (call.input.secure_transport === 'required') {
      this.note('A scenario sends plain text: secure_transport is left out.')
      const { secure_transport: _, ...input } = call.input
      return this.#inputOf({ ...call, input })
    }
    const isSetting = setsWebhook(call) && call.code !== 'VALIDATION_FAILED'
    const { url: _, secret_token: _1, port: _2, holder: _3, leaseId: _4, ...rest } = call.input
    const filled = this.#filled(isSetting ? rest : call.input, '', call) as Members
    if (!isSetting) return Object.keys(filled).length === 0 ? {} : { with: filled }
    this.#hasWebhook ||= call.code === null && (call.status !== null || call.at === '')
    return { with: { ...filled, url: '${webhook.url}', secret_token: '${webhook.secret}' } }
  }

  #filled(value: unknown, member: string, call: RecordedCall): unknown {
    if (Array.isArray(value)) return value.map((it) => this.#filled(it, member, call))
    if (isMembers(value))
      return Object.fromEntries(
        Object.entries(value).map(([name, it]) => [escaped(name), this.#filled(it, name, call)]),
      )
    if (typeof value !== 'string') return value
    const source = this.#sources.get(value)
    if (source !== undefined) return `\${${this.#variableOf(source, baseOf(member, source, call))}}`
    const text = escaped(value).replace(/\[hidden(?: [^\]]{1,80})?\]/g, (name) => this.#secret(name, call))
    const unique = Object.hasOwn(uniqueMembers, member) ? uniqueMembers[member] : undefined
    const fits = value.length + RUN_LENGTH <= (unique?.lengthMax ?? 0)
    return unique && fits && call.code !== 'VALIDATION_FAILED' ? `${text}${unique.separator}\${run}` : text
  }

  /** Text for a secret within a value. */
  #secret(name: string, call: RecordedCall): string {
    const source = this.#sources.get(name)
    if (source !== undefined) return `\${${this.#variableOf(source, baseOf('secret', source, call))}}`
    if (!isSuccess(call)) {
      const { credential } = call.input
      if (!isMembers(credential) || credential.value !== name) return 'unknown'
      // Well formed, but no voucher has it.
      return credential.type === 'qr_token' ? `VQ1-${'0'.repeat(33)}` : '0000-0000-0000-0000'
    }
    const variable = this.#environment.get(name) ?? `SECRET_${this.#environment.size + 1}`
    if (!this.#environment.has(name)) this.note(`Set ${variable} to the secret that ${call.target} sends.`)
    this.#environment.set(name, variable)
    return `\${env.${variable}}`
  }

  /** Returns the variable of a value, and captures it on first use. */
  #variableOf(source: Source, base: string): string {
    if (source.variable !== undefined) return source.variable
    let variable = base
    for (let n = 2; this.#variables.has(variable); n += 1) variable = `${base}${n}`
    this.#variables.add(variable)
    source.variable = variable
    source.step.capture[variable] = source.jq
    return variable
  }

  /** Idempotency keys matter only if two calls have the same one. */
  #keyOf({ key }: RecordedCall): { key?: string } {
    if (key === undefined || (this.#keys.get(key) ?? 0) < 2) return {}
    const known = this.#sentKeys.get(key) ?? `key-${this.#sentKeys.size + 1}-\${run}`
    this.#sentKeys.set(key, known)
    return { key: known }
  }

  #expectationOf(call: RecordedCall): Members | undefined {
    const { status, code, replayed, data, target, at, method } = call
    if (at === '') return undefined
    if (status === null) return { code: 'NETWORK_ERROR' }
    if (!isSuccess(call)) return { status, ...(code === null ? {} : { code }) }
    const asserted = method !== 'GET' && statefulGroups.includes(target.split('.')[0]) && isMembers(data)
    const members = ['status', 'redeemable', 'reason'].flatMap((it) => {
      const value = asserted ? (data as Members)[it] : undefined
      return value == null || NAME.test(String(value)) ? [] : [[it, value]]
    })
    return {
      status,
      ...(replayed ? { replayed } : {}),
      ...(members.length === 0 ? {} : { data: Object.fromEntries(members) }),
    }
  }

  #add({ expect, ...members }: Record<string, unknown>): DraftStep {
    const comments = this.#comments
    this.#comments = []
    const all = expect === undefined ? members : { ...members, expect }
    const step: DraftStep = { comments, members: all, capture: {}, use: {} }
    this.#steps.push(step)
    return step
  }
}

/** Marks `${` as text. */
const escaped = (text: string) => text.replaceAll('${', () => '$${')

/** Name of a variable, by the member that it fills. */
function baseOf(member: string, { jq }: Source, { input }: RecordedCall): string {
  if (jq.includes('credentials[]')) return jq.includes('qr_token') ? 'qr_token' : 'code'
  if (member === 'value' && isMembers(input.credential)) return 'code'
  const name = snakeCase(member.replace(/(?:_id|Id)$/, ''))
  return /^[a-z_][a-z0-9_]{0,50}$/.test(name) ? name : 'value'
}
