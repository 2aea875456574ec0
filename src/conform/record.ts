import type { CredentialKind } from '../contract/endpoint.js'
import { decodePart } from '../contract/values/path-part.js'
import { asMembers, parseJson } from '../secure/json.js'
import { formOf, visitScalars } from './placeholders.js'
import { allProbes } from './probes/index.js'
import {
  RECORDING_VERSION,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
  type RecordingHeader,
  thingNames,
} from './recording.js'
import { Secrets } from './secrets.js'
import type { Exchange, WireRequest, WireResponse } from './wire.js'

export interface RecorderOptions {
  readonly baseUrl: string
  readonly run: string
  readonly recordedAt: Date
  readonly credentials: Readonly<Partial<Record<CredentialKind, string>>>
  readonly template?: string | undefined
  readonly botId?: string | undefined
  readonly chat?: string | undefined
  /** URL of the run's receiver. */
  readonly webhookUrl?: string | undefined
  /** Ms of the clock of the run. */
  now(): number
  /** Appends a line to the file. */
  write(line: RecordingHeader | RecordedExchange): void
}

/** Headers of a response that say something about the platform's behaviour. */
const keptHeaders = ['content-type', 'idempotent-replayed', 'retry-after']

/** Waits below this are the time that a probe takes itself. */
const PAUSE_MS = 100

const encryptedPaths = /^\/api\/v1\/secure\/(?:session|dispatch)(?:[?/]|$)/
const isIdMember = (name: string) => /(?:^|_)id$|Id$/.test(name)

/** Records the exchanges of a run, with placeholders in place of secrets and of values that only this run has. */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #secrets = new Secrets()
  /** Placeholders by value: things of the user, and ids that responses returned. */
  readonly #bound = new Map<string, string>()
  /** Values that a request had before any response: the run chose them. */
  readonly #sent = new Set<string>()
  readonly #receiving = new Set(allProbes.filter((it) => it.needs.includes('webhook')).map((it) => it.id as string))
  #count = 0
  readonly #startedAt: number

  constructor(options: RecorderOptions) {
    this.#options = options
    const { credentials, now } = options
    this.#startedAt = now()
    this.#secrets.addCredentials(credentials)
    for (const thing of ['template', 'botId', 'chat'] as const) {
      const value = options[thing]
      if (value !== undefined) this.#bound.set(value, `\${${thingNames[thing]}}`)
    }
  }

  /** Records that a probe sends bytes that a recording does not hold. */
  raw(probe: string): void {
    this.#write({
      probe,
      not_replayable: 'A recording does not hold bytes that a probe sends over its own connection.',
    })
  }

  record({ probe, request, response, sentAt, pausedMs, isConcurrent }: Exchange): void {
    const { method, path } = request
    const notReplayable = (why: string) => this.#write({ probe, not_replayable: why, request: { method, path } })
    if (encryptedPaths.test(path))
      return notReplayable('A recording does not hold messages of the encrypted transport.')
    const recorded = this.#request(request)
    this.#secrets.addFrom(response.json)
    const number = this.#count + 1
    this.#bindIds(response.json, number)
    if (recorded === undefined) {
      const shown = this.#secrets.hasPart(path) ? '/…' : this.#secrets.hide(path)
      const why = 'It sends a part of a secret, which a recording does not hold.'
      return this.#write({ probe, not_replayable: why, request: { method, path: shown } })
    }
    const { path: shown } = recorded
    const why = this.#receiving.has(probe)
      ? 'It needs a receiver of deliveries, which a replay does not have.'
      : isConcurrent
        ? 'It was sent at the same time as another call, so that its result depends on their order.'
        : undefined
    if (why !== undefined) return this.#write({ probe, not_replayable: why, request: { method, path: shown } })
    this.#write({
      probe,
      at_ms: Math.max(0, Math.round(sentAt - this.#startedAt)),
      ...(pausedMs < PAUSE_MS ? {} : { pause_ms: Math.round(pausedMs) }),
      request: recorded,
      response: this.#response(response),
    })
  }

  #write(exchange: object): void {
    if (this.#count === 0) this.#writeHeader()
    this.#count += 1
    this.#options.write({ exchange: this.#count, ...exchange } as RecordedExchange)
  }

  #writeHeader(): void {
    const { baseUrl, run, recordedAt, write } = this.#options
    write({
      voucherctl_recording: RECORDING_VERSION,
      recorded_at: recordedAt.toISOString(),
      base_url: baseUrl,
      run,
      not_recorded: ['bytes that probes send over connections of their own', 'messages of the encrypted transport'],
    })
  }

  /** The request with placeholders; undefined if it has a part of a secret. */
  #request({ method, path, headers, body, plain }: WireRequest): RecordedRequest | undefined {
    const newSecret = this.#newSecret(body)
    const hidden = (text: string) => this.#hidden(text, newSecret)
    const recorded = {
      method,
      path: hidden(this.#boundPath(path)),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          typeof value === 'string' ? hidden(this.#boundToken(value)) : value.map(hidden),
        ]),
      ),
      ...(body === undefined ? {} : { body: hidden(this.#boundBody(body)) }),
      ...(plain ? { plain } : {}),
    }
    return this.#secrets.hasPart(JSON.stringify(recorded)) ? undefined : recorded
  }

  /** Names a webhook secret that the request sets. Other texts than these are refused, and never become a secret. */
  #newSecret(body: string | undefined) {
    const secret = asMembers(parseJson(body ?? ''))?.secret_token
    if (typeof secret !== 'string' || !/^[\w-]{8,}$/.test(secret) || this.#secrets.nameOf(secret)) return undefined
    const name = this.#secrets.add('WEBHOOK_SECRET', secret)
    return { placeholder: `\${${name}}`, withForm: `\${${name}:${formOf(secret)}}` }
  }

  #hidden(text: string, newSecret: { placeholder: string; withForm: string } | undefined): string {
    const { run, webhookUrl } = this.#options
    const secret = this.#secrets.hide(webhookUrl === undefined ? text : text.replaceAll(webhookUrl, '${WEBHOOK_URL}'))
    const named = secret.replaceAll(run, '${RUN}')
    return newSecret === undefined ? named : named.replaceAll(newSecret.placeholder, newSecret.withForm)
  }

  #boundToken(token: string): string {
    const bound = this.#bound.get(token)
    if (bound === undefined) this.#sent.add(token)
    return bound ?? token
  }

  /** Binds segments, and values of parameters that are ids: the value of another may look like an id. */
  #boundPath(path: string): string {
    return path.replace(/([?&]([^=&]*)=)?([^/?&=]+)/g, (whole, start: string | undefined, name = '', part: string) => {
      if (start !== undefined && !isIdMember(name)) return whole
      const value = decodePart(part)
      const bound = this.#boundToken(value)
      return bound === value ? whole : `${start ?? ''}${bound}`
    })
  }

  /** The text stays as it is otherwise: a probe may send members twice, or JSON that is cut short. */
  #boundBody(body: string): string {
    return body
      .replace(/"([^"\\]*)"(\s*:\s*)"((?:[^"\\]|\\.)*)"/g, (whole, name: string, colon: string, value: string) =>
        isIdMember(name) ? `"${name}"${colon}"${this.#boundToken(value)}"` : whole,
      )
      .replace(/("offset"\s*:\s*)(\d+)/g, (whole, name: string, digits: string) => {
        const bound = this.#bound.get(digits) ?? this.#bound.get(String(Number(digits) - 1))?.replace('}', '+1}')
        return bound === undefined ? whole : `${name}${bound}`
      })
  }

  /** Binds the ids that first appear in this response. */
  #bindIds(json: unknown, exchange: number): void {
    visitScalars(json, (value, pointer, member) => {
      const id = String(value)
      if (!isIdMember(member) || this.#sent.has(id) || this.#bound.has(id)) return
      if (typeof value === 'number' && member !== 'update_id') return
      this.#bound.set(id, `\${${exchange}#${pointer}}`)
    })
  }

  #response({ status, headers, text, json }: WireResponse): RecordedResponse {
    const kept = Object.entries(headers).filter(([name]) => keptHeaders.includes(name))
    return {
      status,
      headers: Object.fromEntries(kept),
      ...(json === undefined ? { text: this.#shown(text) } : { body: this.#hiddenJson(json) }),
    }
  }

  #hiddenJson(json: unknown): unknown {
    if (typeof json === 'string') return this.#shown(json)
    if (Array.isArray(json)) return json.map((it) => this.#hiddenJson(it))
    const members = asMembers(json)
    if (members === undefined) return json
    const hidden = Object.entries(members).map(([name, it]) => [
      this.#secrets.hide(name),
      // The interface shows the beginning of a token, so that its owner recognises it.
      name.endsWith('prefix') || name.endsWith('Prefix') ? it : this.#hiddenJson(it),
    ])
    return Object.fromEntries(hidden)
  }

  #shown(text: string): string {
    const hidden = this.#secrets.hide(text)
    return this.#secrets.hasPart(hidden) ? '${PART_OF_A_SECRET}' : hidden
  }
}
