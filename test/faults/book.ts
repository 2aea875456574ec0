import { appendFileSync } from 'node:fs'
import type { Answer } from '../support/server-client.js'

export type Action = 'issue' | 'redeem' | 'reverse'

/** One call under one idempotency key, however often it was sent. */
export interface Entry {
  readonly key: string
  readonly action: Action
  readonly input: Readonly<Record<string, unknown>>
  /** The first success; null while nobody was told of one. */
  acknowledged: Acknowledged | null
  /** Refused for a reason of the business; the key is free again. */
  refused: boolean
}

export interface Acknowledged {
  readonly status: number
  /** The body without its requestId. */
  readonly sameness: string
  /** A voucher (issue) or a redemption (redeem, reverse). */
  readonly data: { readonly id: string; readonly voucherId?: string }
}

/** Refusals that the load provokes. Any other one is a wrong answer. */
const EXPECTED_REFUSALS = ['TEMPLATE_QUOTA_EXHAUSTED']

/**
 * What clients asked for and what they were told: the side of the truth that a crash cannot touch. Kept in memory
 * and as lines of a file, for whoever has to look into a broken run.
 */
export class Book {
  readonly #entries = new Map<string, Entry>()
  readonly #wrong: string[] = []
  #doneUnanswered = 0
  constructor(readonly path: string) {}

  /** Before it is sent. */
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
      // Nobody was told, and yet it says that it was done before.
      if (replayed) this.#doneUnanswered += 1
      entry.acknowledged = { status, sameness, data }
      entry.refused = false
    } else if (earlier.sameness !== sameness || earlier.status !== status) {
      this.wrong(`${entry.key} was answered ${earlier.status} ${earlier.sameness}, then ${status} ${sameness}`)
    }
  }

  /** What no later check would find: two answers to one key, or a refusal that cannot be. */
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

  /** Sent, and nobody knows whether it was done. */
  unanswered(): Entry[] {
    return this.entries().filter((it) => it.acknowledged === null && !it.refused)
  }

  wrongAnswers(): readonly string[] {
    return this.#wrong
  }

  /** Calls that were carried out though their first answer never came. */
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
