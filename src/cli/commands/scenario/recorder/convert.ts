import type { CredentialKind } from '../../../../contract/endpoint.js'
import {
  eachNew,
  eachText,
  ID,
  isMembers,
  type Members,
  NAME,
  type RecordedCall,
  type RecordedEvent,
} from './events.js'
import { changes, durationOf, jqOf } from './values.js'

/** A step under construction; `members` are those of the file, without `capture` and `use`. */
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

/** Members whose value the platform accepts once, with their maximum length and the separator before `${run}`. */
const uniqueMembers: Readonly<Record<string, readonly [lengthMax: number, separator: string]>> = {
  external_template_id: [64, '-'],
  external_issue_id: [128, '-'],
  username: [64, '_'],
}
const RUN_LENGTH = 13

/** Codes that a server depends on more than the call for, or that the client of a scenario prevents. */
const unrepeatable: Readonly<Record<string, string>> = {
  RATE_LIMITED: 'a scenario runs without rate limits',
  IDEMPOTENCY_KEY_REQUIRED: 'a scenario sends a key with each such call',
  IDEMPOTENCY_KEY_IN_PROGRESS: 'it depends on calls at the same time',
  INVALID_JSON: 'a scenario sends valid JSON',
  UNSUPPORTED_MEDIA_TYPE: 'a scenario sends JSON',
  PAYLOAD_TOO_LARGE: 'the server has not kept its body',
  SERVICE_UNAVAILABLE: 'the server was not ready',
  INTERNAL_ERROR: 'the server had an error',
}

/** Codes that depend on the state and the scopes of a credential. */
const ofCredential = /^(?:TOKEN_REVOKED|TOKEN_EXPIRED|INSUFFICIENT_SCOPE)$/

export const isSuccess = ({ status }: RecordedCall) => status !== null && status < 300
const setsWebhook = ({ target }: RecordedCall) => /^webhook\.set|borrowWebhook/.test(target)

/** Turns calls and attempts, in their order, into steps. */
export class Converter {
  readonly #steps: DraftStep[] = []
  readonly #calls = new Map<DraftStep, RecordedCall>()
  readonly #sources = new Map<string, Source>()
  readonly #credentials = new Map<CredentialKind, string>()
  /** Kinds of the named credentials, by calls that accepted them. */
  readonly #kinds = new Map<string, CredentialKind>()
  /** Endpoints with a planted fault. */
  readonly #faulty = new Set<unknown>()
  readonly #keys = new Map<string, number>()
  readonly #sentKeys = new Map<string, string>()
  readonly #environment = new Map<string, string>()
  readonly #respond: (number | 'timeout')[] = []
  readonly #hasAccounts: boolean
  #hasMoved = false
  #hasWebhook = false
  #comments: string[] = []

  constructor(events: readonly RecordedEvent[]) {
    const accounts = new Set<unknown>()
    for (const it of events) {
      if (it.kind !== 'call') continue
      if (it.key !== undefined) this.#keys.set(it.key, (this.#keys.get(it.key) ?? 0) + 1)
      if (it.target === 'platform.issueAccountToken') accounts.add(it.input.accountId)
      if (isSuccess(it) && it.credential !== null) this.#kinds.set(it.credential, it.caller)
    }
    this.#hasAccounts = accounts.size > 1
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
    this.#hasMoved = true
    const whole = seconds > 1 ? Math.round(seconds) : seconds
    if (whole > 0) this.#add({ advance: durationOf(whole) })
  }

  receive({ type, status, isReplay, body, at }: Extract<RecordedEvent, { kind: 'attempt' }>): void {
    const label = `A delivery of ${type} at ${at}`
    if (isReplay) return this.note(`${label}: the operator replayed it, which has no step.`)
    if (status === null) return this.note(`${label}: no receiver responded; that of a scenario always does.`)
    if (!this.#hasWebhook) return this.note(`${label}: no call set its webhook.`)
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
    const reason = this.#reasonAgainst(call)
    if (reason !== undefined)
      return this.note(`${target}${at && ` at ${at}`} (${call.code ?? call.status}): ${reason}.`)
    if (target === 'platform.addFault' && isSuccess(call)) this.#faulty.add(input.endpoint)
    if (target === 'platform.issueAccountToken' && !this.#hasAccounts && !this.#hasMoved) return
    if (setsWebhook(call) && isSuccess(call) && this.#hasWebhook && target === 'platform.borrowWebhook') return
    if (this.#isPoll(call)) return this.#repeat(call)
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
  }

  /** Says why no step can repeat a call; undefined if one can. */
  #reasonAgainst(call: RecordedCall): string | undefined {
    const { code, status, target, input, credential } = call
    const made = this.#calls.get(this.#sources.get(credential ?? '')?.step as DraftStep)
    if (ofCredential.test(code ?? '') && (made?.at ?? '') === '') return 'its credential is older than the recording'
    const isFault = this.#faulty.has(target)
    if (code !== null && !isFault && code in unrepeatable) return unrepeatable[code]
    if (status === null && (!isFault || call.at === '')) return call.at === '' ? undefined : 'it got no response'
    if (/WEBHOOK_URL_REFUSED/.test(code ?? '')) return 'its URL is a secret'
    const known = Object.entries(input).filter(
      ([name, it]) => /^(?!recipient|user|external).*(?:Id|_id)$/.test(name) && ID.test(String(it)),
    )
    const unknown = known.find(([, it]) => !this.#sources.has(String(it)))
    if (isSuccess(call) && unknown !== undefined)
      return `${unknown[1]} was created before, and the server has it no more`
    return undefined
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
  #credentialOf({ caller, credential, code, target, applicationId }: RecordedCall): string | undefined {
    if (target.startsWith('platform.') && code === null) return undefined
    if (credential === null) return code === 'TOKEN_MISSING' || target.includes(' ') ? 'none' : undefined
    const kind = this.#kinds.get(credential) ?? caller
    const source = this.#sources.get(credential) ?? (NAME.test(credential) ? undefined : this.#tokenOf(applicationId))
    const base = { token: 'token', bot: 'bot_token', jwt: 'jwt', operator: 'operator' }[kind]
    const isOwn = kind === 'operator' || (kind === 'jwt' && source === undefined)
    const wanted = source === undefined ? 'unknown' : `\${${this.#variableOf(source, base)}}`
    if (!isOwn && this.#credentials.get(kind) !== wanted) this.#use(kind, wanted, source?.step)
    return kind === caller && !target.includes(' ') ? undefined : kind
  }

  /** A token of an application, for calls of the operator as that application. */
  #tokenOf(applicationId: string | null): Source | undefined {
    const created = [...this.#sources].filter(([, { step, jq }]) => {
      const call = this.#calls.get(step)
      return call?.target === 'tokens.create' && jq === '.token' && call.input.appId === applicationId
    })
    return created.at(-1)?.[1]
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
    const isSetting = setsWebhook(call) && (isSuccess(call) || call.at === '')
    const { url: _, secret_token: _1, port: _2, holder: _3, leaseId: _4, ...rest } = call.input
    const filled = this.#filled(isSetting ? rest : call.input, '', call) as Members
    if (!isSetting) return Object.keys(filled).length === 0 ? {} : { with: filled }
    this.#hasWebhook = true
    return { with: { ...filled, url: '${webhook.url}', secret_token: '${webhook.secret}' } }
  }

  #filled(value: unknown, member: string, call: RecordedCall): unknown {
    if (Array.isArray(value)) return value.map((it) => this.#filled(it, member, call))
    if (isMembers(value))
      return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, this.#filled(it, name, call)]))
    if (typeof value !== 'string') return value
    const source = this.#sources.get(value)
    if (source !== undefined) return `\${${this.#variableOf(source, baseOf(member, source, call))}}`
    const text = value.replaceAll('${', () => '$${').replace(/\[hidden(?: \d+)?\]/g, (name) => this.#secret(name, call))
    const [lengthMax, separator] = (Object.hasOwn(uniqueMembers, member) && uniqueMembers[member]) || [0, '']
    const isUnique = lengthMax > 0 && call.code !== 'VALIDATION_FAILED' && value.length + RUN_LENGTH <= lengthMax
    return isUnique ? `${text}${separator}\${run}` : text
  }

  /** Text for a secret within a value. */
  #secret(name: string, call: RecordedCall): string {
    const source = this.#sources.get(name)
    if (source !== undefined) return `\${${this.#variableOf(source, baseOf('secret', source, call))}}`
    if (!isSuccess(call)) {
      const { credential } = call.input
      // Well formed, but no voucher has it.
      const code =
        isMembers(credential) && credential.type === 'qr_token' ? `VQ1-${'0'.repeat(33)}` : '0000-0000-0000-0000'
      return call.code === 'VOUCHER_NOT_FOUND' ? code : 'unknown'
    }
    const variable = this.#environment.get(name) ?? `SECRET_${this.#environment.size + 1}`
    if (!this.#environment.has(name)) this.note(`Set ${variable} to the secret that ${call.target} sends.`)
    this.#environment.set(name, variable)
    return `\${env.${variable}}`
  }

  /** Returns the variable of a value, and captures it on first use. */
  #variableOf(source: Source, base: string): string {
    if (source.variable !== undefined) return source.variable
    const taken = new Set([...this.#sources.values()].map((it) => it.variable))
    let variable = base
    for (let n = 2; taken.has(variable); n += 1) variable = `${base}${n}`
    source.variable = variable
    source.step.capture[variable] = source.jq
    return variable
  }

  /** Idempotency keys matter only if two calls have the same one. */
  #keyOf({ key, code }: RecordedCall): { key?: string } {
    if (key === undefined || code === 'IDEMPOTENCY_KEY_INVALID') return key === undefined ? {} : { key }
    if ((this.#keys.get(key) ?? 0) < 2) return {}
    const known = this.#sentKeys.get(key) ?? `key-${this.#sentKeys.size + 1}-\${run}`
    this.#sentKeys.set(key, known)
    return { key: known }
  }

  #expectationOf(call: RecordedCall): Members | undefined {
    const { status, code, replayed, data, target, at, method } = call
    if (at === '') return undefined
    if (status === null) return { code: 'NETWORK_ERROR' }
    if (!isSuccess(call)) return { status, ...(code === null ? {} : { code }) }
    const asserted = method !== 'GET' && /^(?:vouchers|templates|bots|platform)\./.test(target) && isMembers(data)
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

/** Name of a variable, by the member that it fills. */
function baseOf(member: string, { jq }: Source, { input }: RecordedCall): string {
  if (jq.includes('credentials[]')) return jq.includes('qr_token') ? 'qr_token' : 'code'
  if (member === 'value' && isMembers(input.credential)) return 'code'
  return member.replace(/(?:_id|Id)$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) || 'value'
}
