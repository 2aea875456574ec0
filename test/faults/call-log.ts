import { appendFileSync } from 'node:fs'
import type { ApiResponse } from '../support/server/client.js'
import { Sometimes } from './sometimes.js'

export type Action = 'issue' | 'redeem' | 'reverse'

/** One API call with one idempotency key, sent one or more times. */
export interface Entry {
  readonly key: string
  readonly action: Action
  readonly input: Readonly<Record<string, unknown>>
  /** The first success that a client received, or null before. */
  acknowledged: Acknowledged | null
  /** True if the server refused the call without using its idempotency key. */
  refused: boolean
  /** True if the connection ended without a response. */
  hasNoResponse: boolean
}

export interface Acknowledged {
  readonly status: number
  /** The response body without its requestId. */
  readonly sameness: string
  /** The `data` of the response: a voucher (issue) or a redemption (redeem, reverse). */
  readonly data: { readonly id: string; readonly voucherId?: string }
}

/** Failure codes that the clients provoke. Any other refusal breaks an invariant. */
const EXPECTED_REFUSALS = ['TEMPLATE_QUOTA_EXHAUSTED']

/**
 * A log of the calls that clients sent and the responses that they received. It survives a crash of the server: it is
 * in the memory of the test process, and in a file for the analysis of a failed run.
 */
export class CallLog {
  readonly #entries = new Map<string, Entry>()
  readonly #wrong: string[] = []
  #doneWithoutResponse = 0
  /** @param sometimes counts the states that the responses show */
  constructor(
    readonly path: string,
    readonly sometimes = new Sometimes([]),
  ) {}

  /** Records a call before it is sent. */
  open(key: string, action: Action, input: Entry['input']): Entry {
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    const entry: Entry = { key, action, input, acknowledged: null, refused: false, hasNoResponse: false }
    this.#entries.set(key, entry)
    this.#log({ key, action, asked: input })
    return entry
  }

  recordResponse(entry: Entry, response: ApiResponse): void {
    if (response.status >= 500) return
    if (response.status >= 300) return this.#refusal(entry, response)
    const { sameness, status } = response
    const data = response.data as Acknowledged['data']
    const replayed = response.headers['idempotent-replayed'] === 'true'
    this.#log({ key: entry.key, status, id: data.id, replayed })
    const earlier = entry.acknowledged
    if (earlier === null) {
      // A replay as the first success: the server carried out the call earlier, and its response was lost.
      if (replayed) {
        this.#doneWithoutResponse += 1
        this.sometimes.note('a call took effect without a response')
      } else if (entry.hasNoResponse) this.sometimes.note('a call without a response had no effect')
      if (entry.action === 'reverse') this.sometimes.note('a redemption was reversed')
      if (entry.key.startsWith('again-')) this.sometimes.note('a voucher was redeemed again after a reversal')
      entry.acknowledged = { status, sameness, data }
      entry.refused = false
    } else if (earlier.sameness !== sameness || earlier.status !== status) {
      this.wrong(`${entry.key} got ${earlier.status} ${earlier.sameness}, then ${status} ${sameness}`)
    } else if (replayed) this.sometimes.note('a retry was a replay')
  }

  /** Records that the connection ended without a response. */
  recordNoResponse(entry: Entry): void {
    entry.hasNoResponse = true
  }

  /** Records a violation that the stored data cannot show: two different responses to a call, or a wrong refusal. */
  wrong(text: string): void {
    this.#wrong.push(text)
    this.#log({ wrong: text })
  }

  entries(): Entry[] {
    return [...this.#entries.values()]
  }

  acknowledged(): (Entry & { acknowledged: Acknowledged })[] {
    return this.entries().filter((it): it is Entry & { acknowledged: Acknowledged } => it.acknowledged !== null)
  }

  /** Calls of which no client knows the result. */
  unresolved(): Entry[] {
    return this.entries().filter((it) => it.acknowledged === null && !it.refused)
  }

  wrongResponses(): readonly string[] {
    return this.#wrong
  }

  /** Number of calls that the server carried out although their first response was lost. */
  get doneWithoutResponse(): number {
    return this.#doneWithoutResponse
  }

  #refusal(entry: Entry, { status, code, text }: ApiResponse): void {
    this.#log({ key: entry.key, status, code })
    if (code === 'TEMPLATE_QUOTA_EXHAUSTED') this.sometimes.note('the quota of a template was exhausted')
    const expected = EXPECTED_REFUSALS.includes(String(code)) || status === 429
    if (entry.acknowledged !== null || !expected) this.wrong(`${entry.key} was refused: ${status} ${text}`)
    entry.refused = true
  }

  #log(line: object): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`)
  }
}
