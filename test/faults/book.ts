import { appendFileSync } from 'node:fs'
import type { Answer } from '../support/server-client.js'

export type Action = 'issue' | 'redeem' | 'reverse'

/** One call under one idempotency key, however often it was sent. */
export interface Entry {
  readonly key: string
  readonly action: Action
  readonly input: Readonly<Record<string, unknown>>
  /** The first success, or null before any client received one. */
  acknowledged: Acknowledged | null
  /** Refused by a business rule, which leaves the key unused. */
  refused: boolean
}

export interface Acknowledged {
  readonly status: number
  /** The body without its requestId. */
  readonly sameness: string
  /** A voucher (issue) or a redemption (redeem, reverse). */
  readonly data: { readonly id: string; readonly voucherId?: string }
}

/** Refusals that the load provokes. Any other refusal is an error. */
const EXPECTED_REFUSALS = ['TEMPLATE_QUOTA_EXHAUSTED']

/**
 * The requests that clients sent and the responses that they received, out of reach of a crash. Kept in memory, and as
 * lines of a file for the analysis of a failed run.
 */
export class Book {
  readonly #entries = new Map<string, Entry>()
  readonly #wrong: string[] = []
  #doneUnanswered = 0
  constructor(readonly path: string) {}

  /** Records a call before it is sent. */
  open(key: string, action: Action, input: Entry['input']): Entry {
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    const entry: Entry = { key, action, input, acknowledged: null, refused: false }
    this.#entries.set(key, entry)
    this.#log({ key, action, asked: input })
    return entry
  }

  answered(entry: Entry, answer: Answer): void {
    if (answer.status >= 500) return
    if (answer.status >= 300) return this.#refusal(entry, answer)
    const { sameness, status } = answer
    const data = answer.data as Acknowledged['data']
    const replayed = answer.headers['idempotent-replayed'] === 'true'
    this.#log({ key: entry.key, status, id: data.id, replayed })
    const earlier = entry.acknowledged
    if (earlier === null) {
      // No client received a success, but the server had carried out the call.
      if (replayed) this.#doneUnanswered += 1
      entry.acknowledged = { status, sameness, data }
      entry.refused = false
    } else if (earlier.sameness !== sameness || earlier.status !== status) {
      this.wrong(`${entry.key} was answered ${earlier.status} ${earlier.sameness}, then ${status} ${sameness}`)
    }
  }

  /** Records faults that no later check finds: two responses to one key, or an impossible refusal. */
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

  /** Calls that were sent and whose result is unknown. */
  unanswered(): Entry[] {
    return this.entries().filter((it) => it.acknowledged === null && !it.refused)
  }

  wrongAnswers(): readonly string[] {
    return this.#wrong
  }

  /** Calls that were carried out although their first response was lost. */
  get doneUnanswered(): number {
    return this.#doneUnanswered
  }

  #refusal(entry: Entry, { status, code, text }: Answer): void {
    this.#log({ key: entry.key, status, code })
    const expected = EXPECTED_REFUSALS.includes(String(code)) || status === 429
    if (entry.acknowledged !== null || !expected) this.wrong(`${entry.key} was refused: ${status} ${text}`)
    entry.refused = true
  }

  #log(line: object): void {
    appendFileSync(this.path, `${JSON.stringify(line)}\n`)
  }
}
