import { faultOfHeaders } from '../../../contract/platform/fault-kinds.js'
import { asMembers, parseJson } from '../../../values/json.js'
import { explainMismatch } from '../../../webhook/explain.js'
import { pairsOf, updateIdOf } from '../../../workbench/header-pairs.js'
import type { RequestEvent } from '../../../workbench/listener.js'
import type { Context } from '../../command/context.js'
import { columnsOf, type Out } from '../../host/host.js'
import { shownTime } from '../../output/log-line.js'
import type { Screen } from '../../output/screen.js'
import { plainLine, wrap } from '../../output/text.js'

/** Maximum queued lines; above it the listener pauses until half are printed, so a slow reader slows the senders. */
const WAITING_MAX = 1_000

export interface LineOptions {
  readonly secrets: readonly string[]
  /** The line for a shell that gives the secret to the application; undefined if no file has it. */
  readonly secretLine: string | undefined
  readonly insecure: boolean
  readonly respond: unknown
}

/** Prints one line for each request of `webhook listen`, in the order of the responses. */
export class LineQueue {
  readonly #context: Context
  readonly #options: LineOptions
  readonly #waiting: RequestEvent[] = []
  #printing: Promise<void> | undefined
  #resumes: (() => void)[] = []

  constructor(context: Context, options: LineOptions) {
    this.#context = context
    this.#options = options
  }

  add(event: RequestEvent): void {
    this.#waiting.push(event)
    this.#printing ??= this.#print()
  }

  drained(): Promise<void> | undefined {
    return this.#waiting.length < WAITING_MAX ? undefined : new Promise((resolve) => this.#resumes.push(resolve))
  }

  async end(): Promise<void> {
    while (this.#printing !== undefined) await this.#printing
  }

  async #print(): Promise<void> {
    const { output } = this.#context
    const { insecure } = this.#options
    const forPeople = output.options.format === 'table' && output.options.fields === undefined
    const screen = await output.screen()
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      const advice = this.#adviceOn(event)
      if (forPeople) await this.#printForPeople(event, advice, screen)
      else {
        if (advice.length > 0) output.warn(advice.join('\n'))
        await output.printLine(documentOf(event, insecure))
      }
      if (this.#waiting.length < WAITING_MAX / 2) for (const go of this.#resumes.splice(0)) go()
    }
    this.#printing = undefined
  }

  async #printForPeople(event: RequestEvent, advice: readonly string[], screen: Screen): Promise<void> {
    const { output, host } = this.#context
    const { secrets, insecure } = this.#options
    const [otherSecret, secretLine] = advice
    output.say(lineOf(event, insecure, screen))
    const why = otherSecret === undefined ? whyOf(event, secrets) : `hint: ${otherSecret}`
    if (why !== undefined) output.notice(below(plainLine(why), widthOf(host.stderr)))
    if (secretLine !== undefined) output.notice(INDENT + secretLine)
    await host.stdout.settled?.()
  }

  /** For a 401 of the application to a verified delivery: that its secret differs, and the line that gives it the secret. */
  #adviceOn({ update, status }: RequestEvent): readonly string[] {
    const { secretLine, respond } = this.#options
    if (update === null || status !== 401 || respond !== undefined) return []
    return secretLine === undefined ? [OTHER_SECRET] : [OTHER_SECRET, secretLine]
  }
}

export const lineShape = {
  properties: {
    time: { type: 'string' },
    verdict: { type: 'string' },
    reason: { type: 'string' },
    update_id: { type: 'integer' },
    type: { type: 'string' },
    status: { type: 'integer' },
    duration_ms: { type: 'integer' },
    body: {},
    failure: { type: 'string' },
    fault: { type: 'string' },
    unverified: { properties: { update_id: {}, type: {}, body: {} } },
    inbox_id: { type: 'string' },
  },
}

/** Builds the `--json` line of a request (rules/workbench.md#listener). */
function documentOf(event: RequestEvent, insecure: boolean) {
  const { at, verdict, reason, status, durationMs, update, inboxId, failure, headers } = event
  const shown = insecure && update === null ? unverifiedOf(event) : undefined
  return {
    time: new Date(at).toISOString(),
    verdict,
    reason,
    ...(update === null ? {} : { update_id: updateIdOf(update.id), type: update.type }),
    status,
    duration_ms: durationMs,
    ...(update === null ? {} : { body: update.body }),
    ...(failure === null ? {} : { failure }),
    ...faultOfHeaders(pairsOf(headers)),
    ...(shown === undefined ? {} : { unverified: shown }),
    inbox_id: inboxId,
  }
}

function unverifiedOf({ rawBody }: RequestEvent) {
  const text = rawBody.toString('utf8')
  // An unverified body may be deeply nested: parseJson refuses what JSON.stringify could not encode again.
  const body = parseJson(text)
  if (body === undefined) return { update_id: null, type: null, body: text }
  const { update_id = null, type = null } = asMembers(body) ?? {}
  return { update_id, type, body }
}

/** Column widths for a terminal of 80 columns; the longest type with an id of 13 digits has 31 characters. */
const WIDTHS = { verdict: 9, what: 31, status: 4, duration: 7 } as const
const INDENT = ' '.repeat(10)

const widthOf = (out: Out) => (out.isTTY === true ? columnsOf(out) : Number.POSITIVE_INFINITY)

const below = (text: string, width: number) =>
  wrap(text, width - INDENT.length)
    .map((line) => INDENT + line)
    .join('\n')

/** Formats the line of a request: time, verdict, type and id or refusal, status, duration, inbox id. */
function lineOf(event: RequestEvent, insecure: boolean, screen: Screen): string {
  const { paint } = screen
  const { at, verdict, reason, status, durationMs, update, inboxId } = event
  const { fault } = faultOfHeaders(pairsOf(event.headers))
  const word = verdict.padEnd(WIDTHS.verdict)
  const reused = reason === 'id_reused' ? ` ${reason}` : ''
  const what = update === null ? (reason ?? '') : plainLine(`${update.type ?? 'no type'} #${update.id}${reused}`)
  const shownStatus = String(status ?? 'none').padEnd(WIDTHS.status)
  const shown = insecure && update === null ? unverifiedOf(event) : undefined
  const parts = [
    paint.quiet(shownTime(new Date(at).toISOString(), screen)),
    verdict === 'ok' && status !== null && status < 300
      ? paint.done(word)
      : verdict === 'refused'
        ? paint.error(word)
        : paint.quiet(word),
    what.padEnd(WIDTHS.what),
    status !== null && status >= 200 && status < 300 ? paint.done(shownStatus) : paint.error(shownStatus),
    `${durationMs} ms`.padStart(WIDTHS.duration),
    inboxId === null ? '' : paint.quiet(inboxId),
    fault === undefined ? '' : `fault ${fault}`,
    shown === undefined ? '' : `UNVERIFIED ${plainLine(JSON.stringify(shown.body))}`,
  ]
  return parts.filter((it) => it !== '').join(' ')
}

const OTHER_SECRET =
  'The signature was right, so the secret of the application differs. Start it with the secret of this listener.'

function whyOf(event: RequestEvent, secrets: readonly string[]): string | undefined {
  if (event.failure !== null) return `${event.reason}: ${event.failure}`
  const hint = hintOf(event, secrets)
  return hint === undefined ? undefined : `hint: ${hint}`
}

/** Explains a wrong signature by trying known mistakes. */
function hintOf(
  { reason, verdict, headers, rawBody, at }: RequestEvent,
  secrets: readonly string[],
): string | undefined {
  if (verdict !== 'refused' || secrets.length === 0) return undefined
  if (reason === 'method_not_allowed' || reason === 'body_too_large' || reason === 'inbox_unwritable') return undefined
  const found = explainMismatch({ headers: pairsOf(headers), rawBody, secrets, now: at })
  if (found !== null) return `${found.explanation} ${found.fix}`
  return reason === 'bad_signature'
    ? 'The signature matches no known mistake; most likely the secret differs.'
    : undefined
}
