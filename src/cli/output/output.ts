import { writeSync } from 'node:fs'
import { codeOf } from '../../files/error-code.js'
import { platform } from '../../files/platform.js'
import { mapTexts } from '../../values/json.js'
import type { Failure, Suggest } from '../failures/failure.js'
import type { Format } from '../flags/globals.js'
import { columnsOf, type Host, type Out, UTC, type Zone } from '../host/host.js'
import { scrub } from '../host/secrets.js'
import { isColoured, loadPaint, type Paint } from './colour.js'
import { encodeCsv, encodeJson, encodeYaml } from './encode.js'
import type { NameMember } from './failure-text.js'
import type { JqFilter } from './jq.js'
import type { View } from './outcome.js'
import type { Screen, Times } from './screen.js'
import { isList, refuseUnknownInResult, type Shape, selectFields, valueAt } from './select-fields.js'
import { plain, plainLine, sentence, showRecord, withTimes, wrapMessage } from './text.js'

interface OutputOptions {
  readonly format: Format
  readonly fields?: readonly string[] | undefined
  readonly shape?: Shape | undefined
  readonly filter?: JqFilter | undefined
  readonly noColor?: boolean
  readonly quiet?: boolean
  readonly wide?: boolean
  /** True to show times in UTC instead of the local zone. */
  readonly utc?: boolean
  /** True if the command makes a change; the headline then has a mark. */
  readonly changes?: boolean
  /** True if errors are texts for people although the format is JSON. */
  readonly plainErrors?: boolean
  readonly nameOf?: NameMember
  /** Rewrites suggested commands; default: leaves them unchanged. */
  readonly suggest?: Suggest
}

/** Maximum milliseconds between the time in a Date header and a clock that shows the same time. */
const SAME_CLOCK_MS = 2_000

const nothing = { results: [], remarks: '', failure: undefined }

/**
 * Prints the output of a command: results to stdout, which no other module writes to; notices, errors and progress to
 * stderr. Whether stdout is a terminal changes only colour and width, never the format (rules/cli.md#results).
 */
export class Output {
  readonly host: Host
  readonly options: OutputOptions
  #filterError: Failure | undefined
  #cutsIds = false
  readonly #warnings = new Set<string>()
  #serverAheadMs = 0

  constructor(host: Host, options: OutputOptions) {
    this.host = host
    this.options = options
  }

  /** Failure of `--fields` or `--jq` after the command itself succeeded. */
  get filterError(): Failure | undefined {
    return this.#filterError
  }

  async print<Data>(data: Data, view: View<Data> = {}): Promise<void> {
    const selected = this.#select(data)
    if ('ok' in selected) {
      this.#filterError = selected
      return
    }
    const text = await this.#encode(data, selected.data, view)
    if (this.#filterError !== undefined) {
      this.#filterError = this.#withSuccessHint(this.#filterError, data, view)
      return
    }
    this.host.stdout.write(text)
    if (this.#cutsIds) this.noteCutIds()
    this.#warnOfLoss(data, text, view)
    await this.#hint(data, view)
  }

  /** Prints the next step if a person is at the terminal; stderr of a script stays empty. */
  async #hint<Data>(data: Data, view: View<Data>): Promise<void> {
    const { format, fields, quiet } = this.options
    if (format !== 'table' || fields !== undefined || quiet || this.host.stderr.isTTY !== true) return
    const next = sentence(view.next, data)
    if (next === undefined) return
    const paint = await this.#paintFor(this.host.stderr)
    this.host.stderr.write(`\n${paint.quiet(this.#fit(plainLine(this.local(this.#suggest(next)))))}\n`)
  }

  /** Prints a document of a stream on one line. Resolves when the reader has consumed the line or closed the pipe. */
  async printLine<Data>(data: Data, view: View<Data> = {}): Promise<void> {
    const { format, fields, filter } = this.options
    if (view.line !== undefined && format === 'table' && fields === undefined) {
      this.host.stdout.write(`${lineText(data, view.line, { ...(await this.screen()), width: this.width })}\n`)
      return this.host.stdout.settled?.()
    }
    const line = format === 'table' && fields === undefined ? sentence(view.headline, data) : undefined
    const shown = fields === undefined ? data : selectFields(data, fields)
    if (filter !== undefined) this.host.stdout.write(await this.filtered(encodeJson(shown)))
    else this.host.stdout.write(line === undefined ? encodeJson(shown) : `${plainLine(this.local(line))}\n`)
    await this.host.stdout.settled?.()
  }

  /** Writes part of a large result. Resolves to false if the reader has closed the pipe. */
  async write(text: string): Promise<boolean> {
    if (text !== '') this.host.stdout.write(text)
    await this.host.stdout.settled?.()
    return this.host.stdout.gone?.aborted !== true
  }

  /** Runs the `--jq` filter on documents. Sets `filterError` if the filter fails. */
  async filtered(documents: string | Uint8Array): Promise<string> {
    const { results, remarks, failure } = (await this.options.filter?.apply(documents)) ?? nothing
    if (remarks !== '') this.notice(remarks)
    this.#filterError ??= failure
    const onTerminal = this.host.stdout.isTTY === true
    return results.map((it) => `${onTerminal ? plain(it) : it}\n`).join('')
  }

  say(text: string): void {
    this.host.stdout.write(`${text}\n`)
  }

  /** Shows a help topic in the pager if stdout is a terminal and there is one, else prints it. */
  async page(text: string): Promise<void> {
    if (this.width === undefined || !(await this.host.page?.(`${text}\n`))) this.say(text)
  }

  printBytes(bytes: Uint8Array): void {
    this.host.stdout.write(bytes)
  }

  notice(text: string): void {
    if (!this.options.quiet) this.tell(text)
  }

  /** Prints a line to stderr, even with --quiet. */
  tell(text: string): void {
    this.#tell(`${this.#fit(plain(this.local(this.#suggest(text))))}\n`)
  }

  /**
   * Prints a warning, each text only once, even with --quiet. With JSON output it waits for `flushWarnings`, because on
   * failure stderr must hold only the error object.
   */
  warn(text: string): void {
    if (this.#warnings.has(text)) return
    this.#warnings.add(text)
    if (!this.isJson) this.tell(`warning: ${text}`)
  }

  /** Prints the warnings that waited until the command succeeded. */
  flushWarnings(): void {
    if (this.isJson) for (const text of this.#warnings) this.tell(`warning: ${text}`)
  }

  /** True if stderr must hold only the error object of a failure. */
  get isJson(): boolean {
    const { format, plainErrors } = this.options
    return (format === 'json' || format === 'jsonl') && plainErrors !== true
  }

  /** True if the result is a text for people. A command with its own report then prints the report itself. */
  get isForPeople(): boolean {
    const { format, fields, filter } = this.options
    return format === 'table' && fields === undefined && filter === undefined
  }

  trace(text: string): void {
    this.#tell(`debug: ${plain(text)}\n`)
  }

  /** Prints a failure to stderr. @returns the exit code */
  async fail(failure: Failure): Promise<number> {
    const { exitOf } = await import('../failures/codes.js')
    const { toJson, toText } = await import('./failure-text.js')
    const { hint } = failure
    const shown = hint === null ? failure : { ...failure, hint: this.#suggest(hint) }
    if (this.isJson) this.#tell(toJson(shown))
    else this.#tell(this.#fit(this.local(toText(shown, await this.#paintFor(this.host.stderr), this.options.nameOf))))
    return exitOf(failure)
  }

  #suggest(text: string): string {
    return this.options.suggest?.(text) ?? text
  }

  /** Breaks the lines of a message for people at spaces if stderr is a terminal. */
  #fit(text: string): string {
    const { stderr } = this.host
    return stderr.isTTY === true ? wrapMessage(text, columnsOf(stderr)) : text
  }

  /** Writes text to stderr after removing secrets from it. */
  #tell(text: string): void {
    this.host.stderr.write(scrub(this.host, text))
  }

  paint(): Promise<Paint> {
    return this.#paintFor(this.host.stdout)
  }

  /** Number of columns of the terminal; undefined without a terminal, where lines may have any length. */
  get width(): number | undefined {
    return this.host.stdout.isTTY === true ? columnsOf(this.host.stdout) : undefined
  }

  /** Maximum columns of a report line; unlimited without a terminal. */
  get reportWidth(): number {
    return this.width ?? Number.POSITIVE_INFINITY
  }

  get #zone(): Zone {
    return this.options.utc ? UTC : this.host.zone
  }

  /** Relative times count from the clock of the server, which may be a test clock. */
  get times(): Times {
    return { now: this.host.now() + this.#serverAheadMs, zone: this.#zone }
  }

  /** @param date Date header of a response, in whole seconds; the middle of its second is the time of the server */
  noteServerTime(date: string | undefined): void {
    const aheadMs = Date.parse(date ?? '') + 500 - this.host.now()
    this.#serverAheadMs = Math.abs(aheadMs) > SAME_CLOCK_MS ? aheadMs : 0
  }

  /** Replaces the instants in a text for people by local times. */
  local(text: string): string {
    return withTimes(text, this.#zone)
  }

  async screen(): Promise<Screen> {
    return { paint: await this.paint(), width: this.options.wide ? undefined : this.width, ...this.times }
  }

  noteCutIds(): void {
    if (this.host.stderr.isTTY === true) this.notice('Ids are shortened; --wide or -o json prints them whole.')
  }

  /** With --quiet, the ids of a result, one per line; undefined if the result must be printed as a whole. */
  ids<Data>(data: Data, { key = 'id', shownOnce }: View<Data>): string | undefined {
    const { quiet, fields } = this.options
    if (!quiet || fields !== undefined) return undefined
    // Print the whole result: the secret is shown only once.
    if (shownOnce !== undefined && valueAt(data, shownOnce.member) !== undefined) return undefined
    const ids = (isList(data) ? data.items : [data]).map((it) => valueAt(it, key))
    if (ids.some((it) => typeof it !== 'string' && typeof it !== 'number')) return undefined
    return ids.map((it) => `${plainLine(String(it))}\n`).join('')
  }

  #paintFor(out: Out): Promise<Paint> {
    return loadPaint(isColoured(out, this.host.env, this.options.noColor === true))
  }

  #select(data: unknown): { readonly data: unknown } | Failure {
    const { fields, shape, changes } = this.options
    if (fields === undefined) return { data }
    const unknown = refuseUnknownInResult(data, fields, shape)
    if (unknown === undefined) return { data: selectFields(data, fields) }
    // Print the result of a change although a field is unknown: the server may not return it again.
    if (!changes) return unknown
    this.notice(`warning: ${plainLine(`${unknown.message} ${unknown.hint}`)}`)
    return { data: selectFields(data, fields) }
  }

  async #encode<Data>(data: Data, shown: unknown, view: View<Data>): Promise<string> {
    const { format, fields, filter } = this.options
    switch (format) {
      case 'json':
      case 'jsonl': {
        const documents = format === 'jsonl' && isList(shown) ? shown.items : [shown]
        if (filter === undefined) return documents.map((it) => encodeJson(it, format === 'json' ? 2 : 0)).join('')
        return this.filtered(documents.map((it) => encodeJson(it)).join(''))
      }
      case 'yaml':
        return encodeYaml(shown)
      case 'csv':
        return encodeCsv(isList(shown) ? shown.items : [shown], fields, this.host.stdout.isTTY === true)
      case 'table':
        return this.ids(data, view) ?? this.#forPeople(data, view, fields === undefined ? undefined : shown)
    }
  }

  /** Adds to the failure of a filter that the command itself succeeded. */
  #withSuccessHint<Data>(failure: Failure, data: Data, { shownOnce }: View<Data>): Failure {
    if (!this.options.changes) return failure
    const lost = shownOnce !== undefined && valueAt(data, shownOnce.member) !== undefined
    const otherwise = lost ? ` ${shownOnce.member} is not shown again. ${shownOnce.otherwise}` : ''
    return { ...failure, hint: `The command itself was done.${otherwise}` }
  }

  #warnOfLoss<Data>(data: Data, text: string, { shownOnce }: View<Data>): void {
    const { fields, filter } = this.options
    if (shownOnce === undefined) return
    const value = valueAt(data, shownOnce.member)
    if (value === undefined) return
    const left = fields !== undefined && !fields.includes(shownOnce.member)
    const filteredOut = filter !== undefined && !(typeof value === 'string' && text.includes(value))
    if (!left && !filteredOut) return
    const flag = left ? '--fields' : '--jq'
    this.notice(`warning: ${flag} left out ${shownOnce.member}, which is not shown again. ${shownOnce.otherwise}`)
  }

  /** Prefixes a headline with ✓ (change made, or verdict good) or ✗ (verdict bad). */
  #marked<Data>(headline: string, data: Data, { isGood }: View<Data>, paint: Paint): string {
    const verdict = sentence((it) => String(isGood?.(it)), data)
    if (verdict === 'true') return paint.done(`✓ ${headline}`)
    if (verdict === 'false') return paint.error(`✗ ${headline}`)
    return this.options.changes ? `${paint.done('✓')} ${headline}` : headline
  }

  async #forPeople<Data>(data: Data, view: View<Data>, selected: unknown): Promise<string> {
    const screen = await this.screen()
    const { paint } = screen
    const show = async (value: unknown, members?: readonly string[], named = false) => {
      if (!isList(value)) return showRecord(value, members, { ...screen, width: this.width }, named)
      // Load tables on demand: scripts read JSON.
      const { showList } = await import('./show.js')
      const { text, cutsIds } = showList(value, members, screen, view.empty)
      this.#cutsIds = cutsIds
      return text
    }
    if (selected !== undefined) return show(selected, undefined, true)
    const headline = sentence(view.headline, data)
    const isEmpty = view.empty !== undefined && isList(data) && data.items.length === 0
    const body = isEmpty ? undefined : sentence((it) => view.body?.(it, screen), data)
    const drawing = sentence((it) => view.drawing?.(it, screen), data)
    const parts: string[] = []
    if (headline !== undefined) {
      const marked = this.#marked(plainLine(this.local(headline)), data, view, paint)
      parts.push(`${this.width === undefined ? marked : wrapMessage(marked, this.width)}\n`)
    }
    if (drawing !== undefined) parts.push(`${drawing}\n`)
    else if (body !== undefined) parts.push(`${plain(body)}\n`)
    else if (view.members?.length !== 0 || headline === undefined) parts.push(await show(data, view.members))
    return parts.filter((it) => it !== '').join('\n')
  }
}

/** Formats a line of a stream; as JSON if a member is missing or has another type, as from a newer server. */
function lineText<Data>(data: Data, format: NonNullable<View<Data>['line']>, screen: Screen) {
  try {
    return format(mapTexts(data, plainLine) as Data, screen)
  } catch (error) {
    if (error instanceof TypeError) return encodeJson(data).trimEnd()
    throw error
  }
}

/** Bytes that the smallest pipe of POSIX can hold, so that writing them to an empty pipe never blocks. */
const DIRECT_BYTES_MAX = 4_096

/**
 * Stdout of the process. A closed pipe does not end the process, because a command must finish a change that has begun.
 * A short first text bypasses process.stdout, which takes 4 ms to load, except on a Windows console.
 */
export function processStdout(): Out & Required<Pick<Out, 'gone' | 'settled'>> {
  const gone = new AbortController()
  let stream: NodeJS.WriteStream | undefined
  let isFirst = platform.hasByteStdout
  const open = () => (stream ??= process.stdout.on('error', (error) => gone.abort(error)))
  return {
    write(text) {
      if (gone.signal.aborted) return
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      const isDirect = isFirst && stream === undefined && bytes.length <= DIRECT_BYTES_MAX
      isFirst = false
      const rest = isDirect ? bytes.subarray(writeDirectly(bytes, gone)) : bytes
      if (rest.length > 0 && !gone.signal.aborted) open().write(rest)
    },
    async settled() {
      if (stream === undefined) return
      await new Promise<unknown>((resolve) => stream?.write('', resolve))
      // Node emits the error of a write after the write's callback, so wait for it.
      await new Promise((resolve) => setImmediate(resolve))
    },
    get isTTY() {
      return open().isTTY
    },
    get columns() {
      return open().columns
    },
    gone: gone.signal,
  }
}

/** Writes to stdout. @returns the number of written bytes; 0 if the pipe is full and another process made it non-blocking */
function writeDirectly(bytes: Uint8Array, gone: AbortController): number {
  try {
    return writeSync(1, bytes)
  } catch (error) {
    if (codeOf(error) !== 'EAGAIN') gone.abort(error)
    return 0
  }
}
