import { createCall, sendPrepared } from '../../client/call.js'
import { failureOfInput } from '../../client/failure.js'
import type { CallResult } from '../../client/result.js'
import type { CredentialKind } from '../../contract/endpoint.js'
import { platformControls } from '../../contract/platform/controls.js'
import { hideKnown, redact, secretMembers } from '../../contract/secrets.js'
import { pause } from '../../files/pause.js'
import { asMembers, defined, type Members } from '../../values/json.js'
import { readPath } from '../command/call-path.js'
import type { Context, Ok } from '../command/context.js'
import { withIds } from '../command/names.js'
import { prepareAny } from '../command/send.js'
import { type Failure, fail } from '../failures/failure.js'
import { credentialVariables } from '../host/secrets.js'
import type { JqThread } from '../output/jq.js'
import { textOrJson } from '../output/text.js'
import { failedAssertions, outcomeOf, type StepOutcome, shown } from './assertion.js'
import type { AdvanceStep, CallStep, ReceiveStep, ScenarioStep, StepExpectation } from './document.js'
import { evaluator } from './evaluate.js'
import type { Fixture } from './fixture.js'
import type { ScenarioDelivery } from './inbox.js'
import { filled, filledExpression, filledText, referencesIn, UnknownVariable } from './variables.js'

const WITHIN_MS = 10_000
const REPEAT_MS = 100

/** Reasons why a step failed, one line each; empty if the step passed. */
type Problems = readonly string[]

/** Runs the steps of a scenario one after the other; a step can use values that earlier steps captured. */
export class StepRunner {
  readonly #context: Context
  readonly #fixture: Fixture
  readonly #jq: JqThread
  readonly #variables = new Map<string, unknown>()
  readonly #captured = new Set<string>()
  readonly #credentials = new Map<CredentialKind, string>()
  readonly #secrets = new Set<string>()
  /** Last call of the current step, for --debug and to show the step. */
  exchange: StepExchange | undefined
  /** Delivery that the current step received. */
  received: unknown
  #reachesReceiver: boolean

  constructor(context: Context, fixture: Fixture, vars: Readonly<Record<string, unknown>>, jq: JqThread) {
    this.#context = context
    this.#fixture = fixture
    this.#jq = jq
    const { inbox } = fixture
    this.#reachesReceiver = fixture.reachesReceiver
    this.#secrets.add(inbox.secret)
    const { env, referable = env } = context.host
    for (const [name, value] of Object.entries(referable)) this.#variables.set(`env.${name}`, value)
    this.#variables.set('run', context.host.newId().replaceAll('-', '').slice(-12))
    this.#variables.set('webhook.url', inbox.url).set('webhook.secret', inbox.secret)
    for (const [name, value] of Object.entries(vars)) this.#variables.set(name, filled(value, this.#variables))
  }

  /** Captured values and the credentials of `use`, by name of the environment variable. */
  get environment(): Readonly<Record<string, string>> {
    const captured = ['run', ...this.#captured].map((name): [string, string] => {
      const value = this.#variables.get(name)
      const variable = `SCENARIO_${name.replaceAll('-', '_').toUpperCase()}`
      return [variable, textOrJson(value)]
    })
    const credentials = [...this.#credentials].map(([kind, value]) => [credentialVariables[kind], value] as const)
    return Object.fromEntries([...captured, ...credentials])
  }

  async run(step: ScenarioStep, signal: AbortSignal): Promise<Problems> {
    try {
      this.exchange = undefined
      const problems = await this.#perform(step, signal)
      const shown = problems.length > 0 && this.#context.globals.debug ? exchangeLines(this.exchange) : []
      return [...problems, ...shown].map((it) => hideKnown(it, this.#secrets, redact))
    } catch (error) {
      if (error instanceof UnknownVariable) return [error.message]
      throw error
    }
  }

  /** Says why the server cannot take a step, before it runs; null if it may. */
  async obstacleTo(step: ScenarioStep): Promise<string | null> {
    const { inbox, hasOperator } = this.#fixture
    const missing = variablesOf(step).find((name) => !this.#variables.has(name))
    if (missing?.startsWith('env.')) return `the environment has no ${missing.slice(4)}`
    if (missing !== undefined) return `it needs \${${missing}} of a step that has not passed`
    if (isOfOperator(step) && !(await hasOperator())) return 'the platform offers no operator API to this profile'
    return needsReceiver(step) && !this.#reachesReceiver ? `the platform cannot reach the receiver ${inbox.url}` : null
  }

  /** Says what the server lacks for the step that it has just refused; null if the refusal is a difference. */
  incapacity(step: ScenarioStep): string | null {
    const { result } = this.exchange ?? {}
    const code = result?.ok === false ? result.code : undefined
    if (code === 'TEST_CLOCK_OFF') return 'the platform has no test clock'
    if (isOfOperator(step) && code === 'ROUTE_NOT_FOUND') return 'the platform has no operator API'
    if (!needsReceiver(step) || code !== 'WEBHOOK_URL_REFUSED') return null
    this.#reachesReceiver = false
    return `the platform cannot reach the receiver ${this.#fixture.inbox.url}`
  }

  #perform(step: ScenarioStep, signal: AbortSignal): Promise<Problems> {
    if (step.kind === 'advance') return this.#advance(step, signal)
    return step.kind === 'call' ? this.#call(step, signal) : this.#receive(step, signal)
  }

  async #advance({ seconds }: AdvanceStep, signal: AbortSignal): Promise<Problems> {
    const caller = { as: 'operator', idempotencyKey: null } as const
    const outcome = await this.#send(platformControls.advanceClock, { seconds }, caller, signal)
    return outcome.ok ? [] : [outcomeOf(outcome)]
  }

  /** Makes the call of a step; with a time limit it repeats the call until the assertions pass. */
  async #call(step: CallStep, signal: AbortSignal): Promise<Problems> {
    const input = filled(step.with, this.#variables)
    const expect = this.#filledExpectation(step.expect)
    const endsAt = performance.now() + (step.withinMs ?? 0)
    for (;;) {
      const outcome = await this.#send(this.#filledTarget(step.target), input, step, signal)
      const problems = await failedAssertions(expect, outcome, evaluator(this.#jq, signal))
      if (problems.length === 0) return this.#keep(step, outcome, signal)
      if (performance.now() >= endsAt || signal.aborted) return problems
      await pause(REPEAT_MS, signal)
    }
  }

  /** Waits for the first delivery of the type that passes the assertions, and consumes it. */
  async #receive(step: ReceiveStep, signal: AbortSignal): Promise<Problems> {
    const { inbox } = this.#fixture
    const expect = this.#filledExpectation(step.expect)
    const withinMs = step.withinMs ?? WITHIN_MS
    const limit = AbortSignal.any([signal, AbortSignal.timeout(withinMs)])
    let looked = 0
    let last: Problems = []
    for (;;) {
      for (; looked < inbox.waiting.length; looked += 1) {
        const { type, body } = inbox.waiting[looked] as (typeof inbox.waiting)[number]
        if (type !== step.type) continue
        const outcome = { ok: true, status: null, replayed: false, data: body } as const
        last = await failedAssertions(expect, outcome, evaluator(this.#jq, signal))
        if (last.length > 0) continue
        inbox.waiting.splice(looked, 1)
        this.received = body
        return this.#keep(step, outcome, signal)
      }
      if (limit.aborted)
        return [
          `no ${step.type} that fits arrived within ${withinMs / 1000} s`,
          ...otherDeliveries(inbox.waiting),
          ...last,
        ]
      await inbox.arrival(limit)
    }
  }

  async #send(
    target: CallStep['target'],
    input: unknown,
    { as, idempotencyKey: key }: Pick<CallStep, 'as' | 'idempotencyKey'>,
    signal: AbortSignal,
  ): Promise<StepOutcome> {
    const own = as === 'none' ? undefined : this.#credentials.get(as)
    const found =
      as === 'none' || own !== undefined ? { ok: true as const, value: own } : await this.#fixture.credential(as)
    if (!found.ok) return { ...found, status: found.status ?? 0 }
    if (found.value !== undefined) this.#secrets.add(found.value)
    const { transport } = this.#fixture
    const { globals, settings } = this.#context
    const token = found.value
    const idempotencyKey = key === null ? undefined : filledText(key, this.#variables)
    const limits = { signal, timeoutMs: settings.timeoutMs.value }
    let result: CallResult<unknown>
    if ('id' in target) {
      const identified = await this.#withIds(asMembers(input) ?? {}, signal)
      if (!identified.ok) return failureOfInput(identified)
      const call = createCall(transport, defined({ token }))
      result = await call(target, identified.value, { ...limits, ...defined({ idempotencyKey }) })
    } else {
      const path = readPath(target.path)
      if (!path.ok) return failureOfInput({ ok: false, message: path.message, details: {} })
      const context = { ...this.#context, globals: { ...globals, 'idempotency-key': idempotencyKey } }
      const body = input === undefined ? undefined : JSON.stringify(input)
      const prepared = prepareAny(context, { ...target, path: path.path, body, kind: as }, token)
      result = await sendPrepared(transport, { ...prepared, request: { ...prepared.request, ...limits } })
    }
    addSecrets(this.#secrets, result.ok ? result.data : result.details)
    addSecrets(this.#secrets, input)
    this.exchange = { target, input, idempotencyKey, result }
    return result
  }

  /** Replaces names by ids. A name that the platform does not know is sent as it is, for steps that expect a refusal. */
  async #withIds(input: Members, signal: AbortSignal): Promise<Ok<Members> | Failure> {
    const identified = await withIds(input, async (list, members) => {
      const outcome = await this.#send(list, members, { as: list.caller, idempotencyKey: null }, signal)
      return outcome.ok ? { ok: true, data: outcome.data } : fail('INVALID_INPUT', outcome.message)
    })
    const isAmbiguous = 'details' in identified && identified.details.ids !== undefined
    return identified.ok || isAmbiguous ? identified : { ok: true, value: input }
  }

  async #keep({ capture, use }: ScenarioStep, outcome: StepOutcome, signal: AbortSignal): Promise<Problems> {
    if (!outcome.ok) return []
    for (const [name, expression] of Object.entries(capture)) {
      const result = await evaluator(this.#jq, signal)(filledExpression(expression, this.#variables), outcome.data)
      if (!result.ok) return [`capture ${name}: ${result.message}`]
      const [value] = result.values
      if (result.values.length !== 1 || value === null) {
        return [`capture ${name}: ${expression} gives ${shown(result.values)} in place of one value`]
      }
      this.#variables.set(name, value)
      this.#captured.add(name)
    }
    for (const [kind, template] of Object.entries(use)) {
      const value = filledText(template, this.#variables)
      this.#secrets.add(value)
      this.#credentials.set(kind as CredentialKind, value)
    }
    return []
  }

  #filledTarget(target: CallStep['target']): CallStep['target'] {
    return 'id' in target ? target : { ...target, path: filledText(target.path, this.#variables, encoded) }
  }

  #filledExpectation(expect: StepExpectation): StepExpectation {
    const { that, ...values } = expect
    return {
      ...(filled(values, this.#variables) as Omit<StepExpectation, 'that'>),
      that: that.map((it) => filledExpression(it, this.#variables)),
    }
  }
}

const isOfOperator = (step: ScenarioStep) => step.kind === 'advance' || (step.kind === 'call' && step.as === 'operator')

/** Variables that a step needs, without those that it captures itself. */
function variablesOf(step: ScenarioStep): string[] {
  if (step.kind === 'advance') return []
  const target = step.kind === 'call' && 'path' in step.target ? step.target.path : ''
  const sent = step.kind === 'call' ? [step.with, step.idempotencyKey, target] : []
  return referencesIn([...sent, step.expect, Object.values(step.capture)])
}

const needsReceiver = (step: ScenarioStep) => step.kind === 'receive' || variablesOf(step).includes('webhook.url')

interface StepExchange {
  readonly target: CallStep['target']
  readonly input: unknown
  readonly idempotencyKey: string | undefined
  readonly result: CallResult<unknown>
}

function exchangeLines(exchange: StepExchange | undefined): string[] {
  if (exchange === undefined) return []
  const { target, input, result } = exchange
  const body = result.ok ? result.data : { code: result.code, message: result.message, details: result.details }
  return [
    `request: ${target.method} ${target.path} ${JSON.stringify(input ?? {})}`,
    `response: ${result.status} ${JSON.stringify(body)}`,
  ]
}

const encoded = (value: unknown) => encodeURIComponent(String(value))

function otherDeliveries(waiting: readonly ScenarioDelivery[]): string[] {
  return waiting.length === 0 ? [] : [`waiting: ${waiting.map((it) => it.type ?? 'no type').join(', ')}`]
}

/** Adds the secrets of a response, so that the report of the scenario hides them. */
function addSecrets(secrets: Set<string>, value: unknown, name = ''): void {
  if (typeof value === 'string') {
    if (secretMembers.ofRecords.test(name)) secrets.add(value)
  } else if (typeof value === 'object' && value !== null) {
    for (const [member, it] of Object.entries(value)) addSecrets(secrets, it, Array.isArray(value) ? name : member)
  }
}
