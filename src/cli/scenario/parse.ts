import { type CredentialKind, type Endpoint, mutates } from '../../contract/endpoint.js'
import { failures } from '../../contract/errors.js'
import { endpointOf, endpoints } from '../../contract/index.js'
import { updateTypes } from '../../contract/updates.js'
import type { Path, Yaml } from '../../files/yaml-document.js'
import { closest } from '../../values/closest.js'
import { durationMs } from '../../values/duration.js'
import { asMembers, defined, type Members } from '../../values/json.js'
import { parseScript } from '../../workbench/responses.js'
import { readPath, withoutQuery } from '../command/call-path.js'
import { type ApiRoute, methods, routeAmong } from '../command/known-routes.js'
import { localFailures } from '../failures/local-failures.js'
import { type Problem, Source } from '../host/yaml-source.js'
import { type InputCheck, mayReachHandler } from './check-input.js'
import type { CallStep, RawTarget, Scenario, ScenarioStep, StepExpectation } from './document.js'
import { filledFrom, filledWith, referencesIn } from './variables.js'

type ParsedScenario =
  | { readonly ok: true; readonly scenario: Scenario }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const kinds: readonly CredentialKind[] = ['token', 'bot', 'jwt', 'operator']
const callers = [...kinds, 'none'] as const
const stepNames = ['name', 'call', 'receive', 'advance', 'as', 'with', 'key', 'within', 'expect', 'capture', 'use']
/** Permitted members of each kind of step, besides its name. */
const membersOfKind = {
  call: ['as', 'with', 'key', 'within', 'expect', 'capture', 'use'],
  receive: ['within', 'expect', 'capture', 'use'],
  advance: [],
} as const
type StepKind = keyof typeof membersOfKind

/** Calls after which the receiver of the scenario can get deliveries. */
const webhookSetters = ['webhook.set', 'webhook.setByBot', 'platform.borrowWebhook']

const codes = [...Object.keys(failures), ...Object.keys(localFailures)]
/** Codes of responses without a code, and of planted faults without one. */
const CODE_OF_STATUS = /^(?:HTTP|STATUS)_\d{3}$/

const WEBHOOK_MISSING =
  'No step before this one sets a webhook: add "call: webhook.set" with url: "${webhook.url}" and secret_token: "${webhook.secret}".'

/** Form of a variable name that a step may set. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/**
 * Parses a scenario file and reports all of its errors. `routes` are those that `METHOD /path` may name; `checkInput`
 * finds the mistakes in `with`.
 */
export function parseScenario(
  text: string,
  file: string,
  routes: readonly ApiRoute[],
  yaml: Yaml,
  checkInput: InputCheck = () => [],
): ParsedScenario {
  const source = new Source(text, yaml)
  const scenario = source.problems.length === 0 ? new Parser(source, routes, checkInput).scenario(file) : undefined
  return scenario !== undefined && source.problems.length === 0
    ? { ok: true, scenario }
    : { ok: false, problems: source.problems }
}

type Common = Pick<ScenarioStep, 'name' | 'line' | 'expect' | 'capture' | 'use' | 'withinMs'>

class Parser {
  readonly #source: Source
  readonly #routes: readonly ApiRoute[]
  readonly #checkInput: InputCheck
  /** Variables that have a value before the current step, including `env.NAME`. */
  readonly #known = new Set(['run', 'webhook.url', 'webhook.secret'])
  /** Values of `vars`, except for names that an earlier step captures. */
  readonly #literals = new Map<string, unknown>()
  /** Codes that earlier steps send, such as the codes of planted faults. */
  readonly #sentCodes = new Set<unknown>()
  #mayHaveWebhook = false

  constructor(source: Source, routes: readonly ApiRoute[], checkInput: InputCheck) {
    this.#source = source
    this.#routes = routes
    this.#checkInput = checkInput
  }

  scenario(file: string): Scenario | undefined {
    const source = this.#source
    const top = source.record([], source.value, ['name', 'server', 'webhook', 'vars', 'steps', 'teardown'])
    if (top === undefined) return undefined
    const server = source.record(['server'], top.server, ['own', 'auto_approve', 'require_secure'])
    const isOn = (name: string) => source.flag(['server', name], server?.[name]) ?? false
    const vars = source.record(['vars'], top.vars) ?? {}
    for (const [name, value] of Object.entries(vars)) {
      this.#declare(['vars', name], name)
      this.#literals.set(name, filledFrom(value, this.#literals))
    }
    if (top.vars !== undefined) source.exact(['vars'])
    if (top.steps === undefined) source.wrong([], 'The file has no steps.')
    return {
      file,
      name: source.text(['name'], top.name) ?? file,
      server: { own: isOn('own'), autoApprove: isOn('auto_approve'), requireSecure: isOn('require_secure') },
      webhookResponses: this.#webhookResponses(top.webhook),
      vars,
      steps: this.#steps(['steps'], top.steps),
      teardown: this.#steps(['teardown'], top.teardown),
    }
  }

  #webhookResponses(value: unknown): Scenario['webhookResponses'] {
    const webhook = this.#source.record(['webhook'], value, ['respond'])
    const webhookResponses = parseScript(String(webhook?.respond ?? '200'))
    const at = ['webhook', 'respond']
    return webhookResponses ?? this.#source.wrong(at, 'respond must be a list such as 500,timeout,200.') ?? [200]
  }

  #steps(path: Path, value: unknown): ScenarioStep[] {
    return (this.#source.list(path, value, 'steps') ?? []).flatMap((it, i) => this.#step([...path, i], it) ?? [])
  }

  #step(path: Path, value: unknown): ScenarioStep | undefined {
    const source = this.#source
    const step = source.record(path, value, stepNames)
    if (step === undefined) return undefined
    const found = (Object.keys(membersOfKind) as StepKind[]).filter((it) => Object.hasOwn(step, it))
    const [kind] = found
    if (kind === undefined || found.length > 1) return source.wrong(path, 'A step is one of call, receive, advance.')
    for (const name of Object.keys(step)) {
      const belongs = name === 'name' || name === kind || (membersOfKind[kind] as readonly string[]).includes(name)
      if (!belongs && stepNames.includes(name)) source.wrong([...path, name], `${name} cannot be used with ${kind}.`)
    }
    const { use, ...others } = step
    this.#checkReferences(path, others)
    const common = {
      name: source.text([...path, 'name'], step.name) ?? `${kind} ${String(step[kind])}`,
      line: source.lineOf(path),
      expect: this.#expected([...path, 'expect'], step.expect, kind),
      capture: this.#texts([...path, 'capture'], step.capture, (at, name) => this.#declare(at, name)),
      use: this.#texts([...path, 'use'], use, (at, name) => {
        if (!kinds.some((it) => it === name)) source.wrong(at, `use names a credential: ${kinds.join(', ')}.`)
      }),
      withinMs: this.#within([...path, 'within'], step.within),
    }
    // A step's own captures are available only in its `use`.
    this.#checkReferences(path, { use })
    if (kind === 'call') return this.#call(path, step, common)
    if (kind === 'receive') {
      const type = this.#updateType([...path, 'receive'], step.receive)
      if (!this.#mayHaveWebhook) source.wrong([...path, 'receive'], WEBHOOK_MISSING)
      return type === undefined ? undefined : { ...common, kind, type }
    }
    const ms = durationMs(String(step.advance))
    if (ms === undefined)
      return source.wrong([...path, 'advance'], 'advance must be a duration such as 30s, 2h or 31d.')
    return { ...common, kind, seconds: ms / 1000 }
  }

  #updateType(path: Path, value: unknown): string | undefined {
    const type = this.#source.text(path, value)
    if (type === undefined || updateTypes.some((it) => it === type)) return type
    const meant = closest(type, updateTypes)
    const hint = meant === undefined ? `it is one of ${updateTypes.join(', ')}` : `did you mean "${meant}"?`
    return this.#source.wrong(path, `There is no update type "${type}": ${hint}`)
  }

  #call(path: Path, step: Members, common: Common): ScenarioStep | undefined {
    const source = this.#source
    const at = [...path, 'call']
    const called = source.text(at, step.call)
    if (called === undefined) return undefined
    const raw = /^([A-Z]+)\s+(\S+)$/.exec(called)
    const target = raw === null ? this.#endpoint(at, called) : this.#rawTarget(at, raw)
    if (target === undefined) return undefined
    const route = 'id' in target ? target : target.route
    const as = this.#caller([...path, 'as'], step.as) ?? route?.caller
    if (as === undefined)
      return source.wrong(at, `${called} is not known here: say with "as" which credential it takes, or none.`)
    if (common.withinMs !== null && mutates({ method: target.method, repeatable: route?.repeatable })) {
      source.wrong([...path, 'within'], 'within repeats a call until it fits: only calls that change nothing take it.')
    }
    if (raw !== null && target.method === 'GET' && step.with !== undefined)
      source.wrong([...path, 'with'], 'A GET by its path takes no "with": write the query into the path.')
    if (raw === null) {
      const input = source.record([...path, 'with'], step.with ?? {})
      if ('id' in target && input !== undefined) this.#checkWith(path, target, input, common.expect)
    }
    this.#checkCode([...path, 'expect', 'code'], common.expect.code, route !== undefined)
    this.#sentCodes.add(asMembers(step.with)?.code)
    this.#mayHaveWebhook ||= maySetWebhook(route, target.method, common.expect)
    const idempotencyKey = source.text([...path, 'key'], step.key) ?? null
    return { ...common, kind: 'call', target, as, with: step.with, idempotencyKey }
  }

  #checkWith(path: Path, endpoint: Endpoint, input: Members, expect: StepExpectation): void {
    const reaches = mayReachHandler(endpoint, expect)
    const mistakes = this.#checkInput(endpoint, filledFrom(input, this.#literals) as Members)
    for (const { path: member, message, isChanged } of mistakes)
      if (isChanged || reaches) this.#source.wrong([...path, 'with', ...member], message)
  }

  #endpoint(path: Path, id: string): Endpoint | undefined {
    const found = endpointOf(id)
    if (found?.streams) return this.#source.wrong(path, `${id} returns a stream, which no step can read.`)
    if (found !== undefined) return found
    const ids = endpoints.map((it) => it.id)
    const meant = closest(id, ids)
    const hint = meant === undefined ? 'see `voucherctl api routes`' : `did you mean "${meant}"?`
    return this.#source.wrong(path, `There is no endpoint "${id}": ${hint}`)
  }

  #rawTarget(at: Path, [, method = '', path = '']: RegExpExecArray): RawTarget | undefined {
    if (!methods.includes(method)) return this.#source.wrong(at, `The method must be one of ${methods.join(', ')}.`)
    const read = readPath(filledWith(path, 'x'))
    if (!read.ok) return this.#source.wrong(at, read.message)
    return { method, path, route: routeAmong(this.#routes, method, withoutQuery(read.path)) }
  }

  #caller(path: Path, value: unknown): CallStep['as'] | undefined {
    if (value === undefined) return undefined
    const found = callers.find((it) => it === value)
    return found ?? this.#source.wrong(path, `as must be one of ${callers.join(', ')}.`)
  }

  #expected(path: Path, value: unknown, kind: StepKind): StepExpectation {
    const source = this.#source
    const names = kind === 'receive' ? ['data', 'that'] : ['status', 'code', 'replayed', 'data', 'details', 'that']
    const expect = source.record(path, value, names) ?? {}
    const { status, that = [] } = expect
    if (status !== undefined && (!Number.isInteger(status) || (status as number) < 100 || (status as number) > 599)) {
      source.wrong([...path, 'status'], 'status must be a number such as 201.')
    }
    const expressions = Array.isArray(that) ? that : [that]
    if (expressions.some((it) => typeof it !== 'string'))
      source.wrong([...path, 'that'], 'that must be jq expressions.')
    return {
      ...defined({
        status: status as number | undefined,
        code: source.text([...path, 'code'], expect.code),
        replayed: source.flag([...path, 'replayed'], expect.replayed),
      }),
      ...('data' in expect ? { data: expect.data } : {}),
      ...('details' in expect ? { details: expect.details } : {}),
      that: expressions as string[],
    }
  }

  /** Checks a code of the failure table; a route that the contract lacks may have its own codes. */
  #checkCode(path: Path, code: string | undefined, isKnownRoute: boolean): void {
    if (code === undefined || !isKnownRoute || referencesIn(code).length > 0) return
    if (codes.includes(code) || CODE_OF_STATUS.test(code) || this.#sentCodes.has(code)) return
    const meant = closest(code, codes)
    const hint = meant === undefined ? 'see `voucherctl help exit-codes`' : `did you mean "${meant}"?`
    this.#source.wrong(path, `There is no failure code "${code}": ${hint}`)
  }

  #texts(path: Path, value: unknown, check: (path: Path, name: string) => void): Record<string, string> {
    const record = this.#source.record(path, value) ?? {}
    return Object.fromEntries(
      Object.entries(record).map(([name, it]) => {
        check([...path, name], name)
        return [name, this.#source.text([...path, name], it) ?? '']
      }),
    )
  }

  #within(path: Path, value: unknown): number | null {
    if (value === undefined) return null
    return durationMs(String(value)) ?? this.#source.wrong(path, 'within must be a duration such as 10s.') ?? null
  }

  #declare(path: Path, name: string): void {
    if (!VARIABLE.test(name)) this.#source.wrong(path, `"${name}" is not a variable name (letters, digits, _ and -).`)
    this.#known.add(name)
    this.#literals.delete(name)
  }

  #checkReferences(path: Path, step: Members): void {
    for (const [member, value] of Object.entries(step)) {
      for (const name of referencesIn(value)) {
        if (this.#known.has(name) || name.startsWith('env.')) continue
        const meant = closest(name, [...this.#known])
        const hint =
          meant === undefined
            ? 'no step before this one captures it, and vars does not hold it'
            : `did you mean \${${meant}}?`
        this.#source.wrong([...path, member], `\${${name}} is not known here: ${hint}`)
      }
    }
  }
}

/** True for a call that is to succeed and sets a webhook, or that the contract lacks and that changes something. */
const maySetWebhook = (route: { readonly id: string } | undefined, method: string, expect: StepExpectation) =>
  (route === undefined ? method !== 'GET' : webhookSetters.includes(route.id)) &&
  expect.code === undefined &&
  (expect.status ?? 0) < 400
