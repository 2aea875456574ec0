import type { Context } from '../../command/context.js'
import { brokenCommand } from '../../command/help.js'
import { programName } from '../../failures/failure.js'
import { plainLine } from '../../output/text.js'

interface ShownStep {
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

/** Prints each step as text, or collects all of them for one JSON document. */
export class StepPrinter {
  readonly steps: ShownStep[] = []
  readonly #context: Context
  readonly #pauses: boolean
  /** Time in ms that the printer waited for a key press. */
  pausedMs = 0

  constructor(context: Context, pauses: boolean) {
    const { host, globals } = context
    this.#context = context
    const hasTerminal = [host.stdin, host.stdout, host.stderr].every((it) => it.isTTY === true)
    this.#pauses = pauses && this.isPrinting && hasTerminal && !globals['no-input']
  }

  get isPrinting(): boolean {
    return this.#context.output.options.format === 'table'
  }

  async show(step: Omit<ShownStep, 'step'>): Promise<void> {
    this.steps.push({ step: this.steps.length + 1, ...step })
    if (!this.isPrinting) return
    const { output, host } = this.#context
    const paint = await output.paint()
    const number = String(this.steps.length).padStart(2)
    output.say(`${this.steps.length === 1 ? '' : '\n'}${paint.done('✓')} ${number}  ${paint.strong(step.title)}`)
    output.say(`      ${plainLine(output.local(step.result))}`)
    const command = plainLine(asTyped(host.env, step.command))
    for (const line of brokenCommand(command, '      $ ', output.width)) output.say(paint.hint(line))
  }

  /** Waits for a key press on a terminal. @returns false if the user ends the quickstart */
  async pause(): Promise<boolean> {
    if (!this.#pauses) return true
    const { host } = this.#context
    const since = host.now()
    const key = await (await host.questions()).key('Press a key for the next step, Ctrl-C to end.')
    this.pausedMs += host.now() - since
    return key !== undefined
  }

  /** Draws a QR code if stdout is a terminal that is wide enough. */
  async draw(qrToken: string): Promise<void> {
    const { output } = this.#context
    if (!this.isPrinting || output.width === undefined) return
    const { drawQr } = await import('../../output/qr.js')
    const drawing = await drawQr(qrToken, output)
    if (drawing !== undefined) output.say(`\n${drawing}`)
  }
}

/** A command as the user can type it. */
export const asTyped = (env: Readonly<Record<string, string | undefined>>, command: string) =>
  command.replace(/^voucherctl/, programName(env))
