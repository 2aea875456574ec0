import { createCall } from '../../../client/call.js'
import { createHttpTransport } from '../../../client/http.js'
import { withRetry } from '../../../client/retry.js'
import type { Transport } from '../../../client/transport.js'
import type { CredentialKind, Endpoint, InputOf, OutputOf } from '../../../contract/endpoint.js'
import { defined } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { fromCall } from '../../failures/call-failure.js'
import { exitOf } from '../../failures/codes.js'
import { type Failure, fail, programName } from '../../failures/failure.js'
import { plainLine } from '../../output/text.js'

/** Address, data folder and operator key file of the running server, for the steps. */
export interface ServerFacts {
  readonly baseUrl: string
  readonly dataDir: string
  readonly operatorKeyFile: string | null
}

/** The server of a walkthrough. */
export interface StartedServer {
  readonly ok: true
  readonly facts: ServerFacts
  /** Runs after all steps succeeded. */
  keep?(walkthrough: Walkthrough): Promise<Failure | undefined>
  /** Stops the server and removes its data. */
  remove(): Promise<void>
}

interface WalkthroughStep {
  readonly step: number
  readonly title: string
  /** The voucherctl command with which a user can repeat the step. */
  readonly command: string
  readonly result: string
  /** HTTP method and path, such as `POST /api/v1/…`; null for a step without a call. */
  readonly call: string | null
  readonly status: number | null
  /** Exit code that the command would return. */
  readonly exit: number
}

interface StepCall<E extends Endpoint> {
  readonly title: string
  readonly command: string
  readonly input: InputOf<E>
  readonly idempotencyKey?: string
  /** Wraps the unencrypted transport, for example to encrypt this call. */
  readonly through?: (transport: Transport) => Transport
}

interface StepDefinition<E extends Endpoint> extends StepCall<E> {
  /** Describes the response in a sentence. */
  readonly describe: (data: OutputOf<E>, replayed: boolean) => string
}

/** Thrown by a step, so that it ends the walkthrough. */
export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

export const interrupted = fail('ABORTED', 'Interrupted.')
export const unexpected = (message: string) => new StepFailure(fail('UNEXPECTED', message))

/** Runs steps in order. It prints each as text, or collects all of them for one JSON document. */
export class Walkthrough {
  readonly steps: WalkthroughStep[] = []
  readonly credentials = new Map<CredentialKind, string>()
  readonly #transport: Transport
  readonly #context: Context
  readonly #aloud: boolean
  readonly #pauses: boolean
  #isInterrupted = false
  /** Bot of the walkthrough; undefined until a step has created it. */
  botId: string | undefined
  /** Time in ms that the walkthrough waited for a key press. */
  pausedMs = 0

  constructor(context: Context, baseUrl: string, { isPrinted, pauses }: { isPrinted: boolean; pauses: boolean }) {
    const { host, globals } = context
    this.#context = context
    this.#aloud = isPrinted
    const hasTerminal = [host.stdin, host.stdout, host.stderr].every((it) => it.isTTY === true)
    this.#pauses = isPrinted && pauses && hasTerminal && !globals['no-input']
    this.#transport = createHttpTransport(baseUrl)
  }

  /** Signal that Ctrl-C aborts. */
  get signal(): AbortSignal {
    return this.#context.host.signal
  }

  newIdempotencyKey(): string {
    return this.#context.host.newId()
  }

  /** Makes one call. @throws StepFailure unless it succeeds */
  async run<E extends Endpoint>(endpoint: E, definition: StepDefinition<E>): Promise<OutputOf<E>> {
    const { result, step } = await this.#call(endpoint, definition)
    if (!result.ok) throw new StepFailure(fromCall(result))
    await this.add({ ...step, result: definition.describe(result.data, result.replayed), exit: 0 })
    return result.data
  }

  /** Makes one call. @throws StepFailure unless the server refuses it with this code */
  async runRefused<E extends Endpoint>(endpoint: E, code: string, definition: StepCall<E>): Promise<void> {
    const { result, step } = await this.#call(endpoint, definition)
    if (result.ok) throw unexpected(`${step.title}: the server did not refuse with ${code}.`)
    const failure = fromCall(result)
    if (result.code !== code) throw new StepFailure(failure)
    const text = `refused, as expected: ${result.status} ${code}: ${result.message}`
    await this.add({ ...step, result: text, exit: exitOf(failure) })
  }

  async #call<E extends Endpoint>(endpoint: E, definition: StepCall<E>) {
    if (this.#isInterrupted) throw new StepFailure(interrupted)
    const { host, settings } = this.#context
    const { title, command, input, idempotencyKey, through } = definition
    const options = { signal: host.signal, timeoutMs: settings.timeoutMs.value, ...defined({ idempotencyKey }) }
    const token = (kind: CredentialKind) => this.credentials.get(kind)
    const transport = through?.(this.#transport) ?? this.#transport
    const result = await createCall(withRetry(transport), { token })(endpoint, input, options)
    return { result, step: { title, command, call: `${endpoint.method} ${endpoint.path}`, status: result.status } }
  }

  async add(step: Omit<WalkthroughStep, 'step'>): Promise<void> {
    if (this.steps.length > 0) await this.#pause()
    this.steps.push({ step: this.steps.length + 1, ...step })
    if (!this.#aloud || this.#isInterrupted) return
    const { output, host } = this.#context
    const paint = await output.paint()
    const number = String(this.steps.length).padStart(2)
    output.say(`${this.steps.length === 1 ? '' : '\n'}${paint.done('✓')} ${number}  ${paint.strong(step.title)}`)
    output.say(`      ${plainLine(output.local(step.result))}`)
    const lines = breakCommand(plainLine(asTyped(host.env, step.command)), Math.min(72, (output.width ?? 80) - INDENT))
    lines.forEach((line, i) => output.say(paint.hint(i === 0 ? `      $ ${line}` : `          ${line}`)))
  }

  async #pause(): Promise<void> {
    if (!this.#pauses || this.#isInterrupted) return
    const { host } = this.#context
    const since = host.now()
    const key = await (await host.questions()).key('Press a key for the next step, Ctrl-C to end.')
    this.#isInterrupted = key === undefined
    this.pausedMs += host.now() - since
  }

  /** Draws a QR code if stdout is a terminal that is wide enough. */
  async draw(qrToken: string): Promise<void> {
    const { output } = this.#context
    if (!this.#aloud || output.width === undefined) return
    const { drawQr } = await import('../../output/qr.js')
    const drawing = await drawQr(qrToken, output)
    if (drawing !== undefined) output.say(`\n${drawing}`)
  }
}

/** Columns around a command in the output: its indentation, and a backslash at the end of a broken line. */
const INDENT = 12

/** A command as the user can type it. */
export function asTyped(env: Readonly<Record<string, string | undefined>>, command: string): string {
  return command.replace(/^voucherctl/, programName(env))
}

/** Breaks a command into lines of at most `width` columns, each but the last with a backslash at the end. */
function breakCommand(command: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const part of command.split(/ (?=--)/)) {
    if (line !== '' && `${line} ${part} \\`.length > width) {
      lines.push(`${line} \\`)
      line = part
    } else {
      line = line === '' ? part : `${line} ${part}`
    }
  }
  return [...lines, line]
}
