import { createHttpTransport } from '../../../client/http.js'
import { withRetry } from '../../../client/retry.js'
import { withSecure } from '../../../client/secure.js'
import type { Transport } from '../../../client/transport.js'
import type { Update } from '../../../contract/updates.js'
import { vouchers } from '../../../contract/vouchers.js'
import { webhook } from '../../../contract/webhook.js'
import type { Members } from '../../../values/json.js'
import { commandLine } from '../../command/call-line.js'
import type { Context } from '../../command/context.js'
import type { NamedLeaf } from '../../command/tree.js'
import { fromCall } from '../../failures/call-failure.js'
import { exitOf } from '../../failures/codes.js'
import { type Failure, fail, optionOf } from '../../failures/failure.js'
import type { JqThread } from '../../output/jq.js'
import type { ScenarioStep } from '../../scenario/document.js'
import type { ScenarioInbox } from '../../scenario/inbox.js'
import { StepRunner } from '../../scenario/step-runner.js'
import { credentialOf } from '../vouchers/issue.js'
import { interrupted } from './kept-server.js'
import type { StepPrinter } from './step-printer.js'
import { WireRecorder } from './wire-recorder.js'
import { wordings } from './wordings.js'

const unexpected = (message: string) => fail('UNEXPECTED', message)

interface WalkthroughOptions {
  readonly baseUrl: string
  readonly operatorKey: string
  readonly receiver: ScenarioInbox
  readonly leaves: readonly NamedLeaf[]
  readonly jq: JqThread
}

/** Texts of a step that is not in the scenario file. */
interface OtherTexts {
  readonly title: string
  readonly flags: string
  result(): string
}

/** Runs steps of the scenario and shows each as a command with its result. */
export class Walkthrough {
  readonly #context: Context
  readonly #printer: StepPrinter
  readonly #leaves: readonly NamedLeaf[]
  readonly #runner: StepRunner
  readonly #plain: Transport
  #transport: Transport

  constructor(
    context: Context,
    printer: StepPrinter,
    { baseUrl, operatorKey, receiver, leaves, jq }: WalkthroughOptions,
  ) {
    this.#context = context
    this.#printer = printer
    this.#leaves = leaves
    this.#plain = createHttpTransport(baseUrl)
    this.#transport = withRetry(this.#plain)
    const fixture = {
      transport: (request: Parameters<Transport>[0]) => this.#transport(request),
      inbox: receiver,
      credential: async () => ({ ok: true as const, value: operatorKey }),
      hasOperator: async () => true,
      reachesReceiver: true,
      close: async () => {},
    }
    this.#runner = new StepRunner(context, fixture, {}, jq)
  }

  /** Captured values and credentials, by name of the environment variable. */
  get environment(): StepRunner['environment'] {
    return this.#runner.environment
  }

  /** Runs the steps in order. After the first verification, it repeats the call through the encrypted transport. */
  async run(steps: readonly ScenarioStep[]): Promise<Failure | undefined> {
    let failure: Failure | undefined
    const verification = steps.find((it) => it.kind === 'call' && it.target === vouchers.verify)
    for (const step of steps) {
      failure ??= await this.#run(step)
      if (step === verification) failure ??= await this.#runEncrypted(step)
    }
    return failure
  }

  async #run(step: ScenarioStep, added?: OtherTexts): Promise<Failure | undefined> {
    const { title = step.name, flags = '' } = added ?? {}
    if (!(await this.#printer.pause())) return interrupted
    const runner = this.#runner
    const { signal } = this.#context.host
    const [problem] = await runner.run(step, signal)
    const { exchange } = runner
    if (problem !== undefined) {
      if (signal.aborted) return interrupted
      const isRefused = exchange?.result.ok === false && step.expect.code === undefined
      return isRefused ? fromCall(exchange.result) : unexpected(`${title}: ${problem}`)
    }
    if (exchange === undefined) {
      const { update_id, type } = runner.received as Update
      const result = `update ${update_id}, ${type}: signature valid, response 200`
      const command = commandLine(this.#leaves, webhook.deliveries, { botId: this.environment.SCENARIO_BOT })
      await this.#printer.show({ title, command, result, call: null, status: null, exit: 0 })
      return undefined
    }
    const { target, input, idempotencyKey, result } = exchange
    const wording = wordings.get('id' in target ? target.id : target.path)
    if (wording === undefined || 'route' in target) throw new Error(`${title} must call an endpoint that has a wording`)
    const key = idempotencyKey === undefined ? '' : optionOf('idempotency-key', idempotencyKey)
    const words = [commandLine(this.#leaves, target, input as Members), wording.flags, key, flags]
    await this.#printer.show({
      title,
      command: words.filter((it) => it !== '').join(' '),
      result: result.ok
        ? `${wording.result(result.data, result.replayed)}${added?.result() ?? ''}`
        : `refused, as expected: ${result.status} ${result.code}: ${result.message}`,
      call: `${target.method} ${target.path}`,
      status: result.status,
      exit: result.ok ? 0 : exitOf(fromCall(result)),
    })
    const qrToken = target === vouchers.issue && result.ok ? credentialOf(result.data, 'qr_token') : undefined
    if (qrToken !== undefined) await this.#printer.draw(qrToken)
    return undefined
  }

  /** Repeats a call over the encrypted transport and shows the bytes that an eavesdropper would see. */
  async #runEncrypted(step: ScenarioStep): Promise<Failure | undefined> {
    const plain = this.#transport
    const wire = new WireRecorder()
    this.#transport = withRetry(withSecure(wire.around(this.#plain), { mode: 'required' }))
    const failure = await this.#run(step, {
      title: 'Verified once more, through the encrypted transport',
      flags: '--secure required',
      result: () => `; on the wire: ${wire.summary}, with neither path nor token nor code in them`,
    })
    this.#transport = plain
    const { SCENARIO_CODE: code = '', VOUCHERCTL_TOKEN: token = '' } = this.environment
    const isReadable = wire.hasReadable([code, token, vouchers.verify.path])
    return (
      failure ?? (isReadable ? unexpected('Something of the encrypted call could be read on the wire.') : undefined)
    )
  }
}
