import type { Paint } from './colour.js'
import { isColoured, loadPaint } from './colour.js'
import { encodeCsv, encodeJson, encodeYaml } from './encode.js'
import type { Failure } from './failure.js'
import { toJson, toText } from './failure.js'
import { selectFields, valueAt } from './fields.js'
import type { Format } from './globals.js'
import type { Host, Out } from './host.js'
import type { View } from './leaf.js'
import { plain, plainLine } from './plain.js'
import { sentence } from './sentence.js'
import { isList, showList, showRecord } from './show.js'

export interface OutputOptions {
  readonly format: Format
  readonly fields?: readonly string[] | undefined
  readonly noColor?: boolean
  readonly quiet?: boolean
  /** Marks headlines: the command changed something. */
  readonly changes?: boolean
}

/**
 * Everything that a command says. Results go to stdout, and this module alone writes there; notices, errors and
 * progress go to stderr. The format never depends on what stdout is, only colour and width do.
 */
export class Output {
  readonly host: Host
  readonly options: OutputOptions

  constructor(host: Host, options: OutputOptions) {
    this.host = host
    this.options = options
  }

  /** The result, as one document. */
  async print<Data>(data: Data, view: View<Data> = {}): Promise<void> {
    this.host.stdout.write(await this.#encode(data, view))
    await this.#hint(data, view)
  }

  /** What comes next, for a person at a terminal; a script finds nothing on stderr. */
  async #hint<Data>(data: Data, view: View<Data>): Promise<void> {
    const { format, fields, quiet } = this.options
    if (format !== 'table' || fields !== undefined || quiet || this.host.stderr.isTTY !== true) return
    const next = sentence(view.next, data)
    if (next === undefined) return
    const paint = await this.#paintFor(this.host.stderr)
    this.host.stderr.write(`\n${paint.quiet(plainLine(next))}\n`)
  }

  /** One document of a stream, on one line; it has been taken, or stdout is gone, when this is over. */
  async printLine<Data>(data: Data, view: View<Data> = {}): Promise<void> {
    const { format, fields } = this.options
    const line = format === 'table' && fields === undefined ? sentence(view.headline, data) : undefined
    if (line !== undefined) this.host.stdout.write(`${plainLine(line)}\n`)
    else this.host.stdout.write(encodeJson(fields === undefined ? data : selectFields(data, fields).data))
    await this.host.stdout.settled?.()
  }

  /** Text for a person, in the table format only: what comes bit by bit, and help. */
  say(text: string): void {
    this.host.stdout.write(`${text}\n`)
  }

  /** A result that is bytes and nothing else: for a file or a pipe. */
  printBytes(bytes: Uint8Array): void {
    this.host.stdout.write(bytes)
  }

  /** What a person should know; never part of the result. */
  notice(text: string): void {
    if (!this.options.quiet) this.host.stderr.write(`${plain(text)}\n`)
  }

  /** Asked for with --debug. */
  trace(text: string): void {
    this.host.stderr.write(`debug: ${plain(text)}\n`)
  }

  async fail(failure: Failure): Promise<void> {
    const { format } = this.options
    if (format === 'json' || format === 'jsonl') this.host.stderr.write(toJson(failure))
    else this.host.stderr.write(toText(failure, await this.#paintFor(this.host.stderr)))
  }

  /** Colours of stdout. */
  paint(): Promise<Paint> {
    return this.#paintFor(this.host.stdout)
  }

  /** Characters of a line on a terminal; undefined where lines may be as long as they are. */
  get width(): number | undefined {
    return this.host.stdout.isTTY === true ? (this.host.stdout.columns ?? 80) : undefined
  }

  #paintFor(out: Out): Promise<Paint> {
    return loadPaint(isColoured(out, this.host.env, this.options.noColor === true))
  }

  async #encode<Data>(data: Data, view: View<Data>): Promise<string> {
    const { format, fields } = this.options
    const selected = fields === undefined ? undefined : selectFields(data, fields)
    for (const warning of selected?.warnings ?? []) this.notice(`warning: ${plainLine(warning)}`)
    this.#warnOfLoss(data, view)
    const shown: unknown = selected === undefined ? data : selected.data
    switch (format) {
      case 'json':
        return encodeJson(shown, 2)
      case 'jsonl':
        return isList(shown) ? shown.items.map((item) => encodeJson(item)).join('') : encodeJson(shown)
      case 'yaml':
        return encodeYaml(shown)
      case 'csv':
        return encodeCsv(isList(shown) ? shown.items : [shown], fields, this.host.stdout.isTTY === true)
      case 'table':
        return this.#forPeople(data, view, fields === undefined ? undefined : shown)
    }
  }

  #warnOfLoss<Data>(data: Data, { shownOnce }: View<Data>): void {
    const { fields } = this.options
    if (shownOnce === undefined || fields === undefined || fields.includes(shownOnce.member)) return
    if (valueAt(data, shownOnce.member) === undefined) return
    this.notice(`warning: --fields left out ${shownOnce.member}, which is not shown again. ${shownOnce.otherwise}`)
  }

  async #forPeople<Data>(data: Data, view: View<Data>, selected: unknown): Promise<string> {
    const paint = await this.paint()
    if (selected !== undefined) return this.#members(selected, undefined, paint)
    const headline = sentence(view.headline, data)
    const body = sentence(view.body, data)
    const mark = this.options.changes ? `${paint.done('✓')} ` : ''
    const parts: string[] = []
    if (headline !== undefined) parts.push(`${mark}${plainLine(headline)}\n`)
    if (body !== undefined) parts.push(`${plain(body)}\n`)
    else if (view.members?.length !== 0 || headline === undefined)
      parts.push(await this.#members(data, view.members, paint))
    return parts.filter((it) => it !== '').join('\n')
  }

  async #members(data: unknown, members: readonly string[] | undefined, paint: Paint): Promise<string> {
    return isList(data) ? showList(data, members, paint, this.width) : showRecord(data, members, paint, this.width)
  }
}

/** The stdout of this process. A reader that has gone ends no command halfway: what it did must be finished. */
export function processStdout(): Out & { readonly gone: AbortSignal } {
  const gone = new AbortController()
  process.stdout.on('error', (error) => gone.abort(error))
  return {
    write: (text) => gone.signal.aborted || process.stdout.write(text),
    async settled() {
      await new Promise<unknown>((resolve) => process.stdout.write('', resolve))
      // The error of a write is told after its callback.
      await new Promise((resolve) => setImmediate(resolve))
    },
    get isTTY() {
      return process.stdout.isTTY
    },
    get columns() {
      return process.stdout.columns
    },
    gone: gone.signal,
  }
}
