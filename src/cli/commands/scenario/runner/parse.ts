import { closest } from '../../../../contract/closest.js'
import { type CredentialKind, type Endpoint, mutates } from '../../../../contract/endpoint.js'
import { endpoints } from '../../../../contract/index.js'
import { parseScript } from '../../../../workbench/responses.js'
import { durationMs } from '../../../flags/flags.js'
import { methods, type Route, routeAmong } from '../../api/endpoint.js'
import { readPath, withoutQuery } from '../../api/path.js'
import type { CallStep, Expected, RawTarget, Scenario, Step } from './document.js'
import { type Members, type Path, type Problem, Source, type Yaml } from './source.js'
import { filledWith, referencesIn } from './variables.js'

type Parsed =
  | { readonly ok: true; readonly scenario: Scenario }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const kinds: readonly CredentialKind[] = ['token', 'bot', 'jwt', 'operator']
const callers = [...kinds, 'none'] as const
const stepNames = ['name', 'call', 'receive', 'advance', 'as', 'with', 'key', 'within', 'expect', 'capture', 'use']
/** What a step of each kind takes beside its name. */
const membersOfKind = {
  call: ['as', 'with', 'key', 'within', 'expect', 'capture', 'use'],
  receive: ['within', 'expect', 'capture', 'use'],
  advance: [],
} as const
type Kind = keyof typeof membersOfKind

/** Set before the first step; `env.NAME` too. */
const builtIn = ['run', 'webhook.url', 'webhook.secret'] as const

/** Names of variables that may be captured. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

/** Reads a scenario and says everything that is wrong with it. `routes` are those that METHOD /path may mean. */
export function parseScenario(text: string, file: string, routes: readonly Route[], yaml: Yaml): Parsed {
  const source = new Source(text, yaml)
  const scenario = source.problems.length === 0 ? readScenario(source, file, routes) : undefined
  return scenario !== undefined && source.problems.length === 0
    ? { ok: true, scenario }
    : { ok: false, problems: source.problems }
}

function readScenario(source: Source, file: string, routes: readonly Route[]): Scenario | undefined {
  const top = source.record([], source.value, ['name', 'server', 'webhook', 'vars', 'steps', 'teardown'])
  if (top === undefined) return undefined
  const server =
    top.server === undefined ? {} : source.record(['server'], top.server, ['auto_approve', 'require_secure'])
  const isOn = (name: string) =>
    server?.[name] === undefined ? false : (source.flag(['server', name], server[name]) ?? false)
  const vars = top.vars === undefined ? {} : source.record(['vars'], top.vars)
  const known = new Set<string>(builtIn)
  for (const name of Object.keys(vars ?? {})) declare(source, ['vars', name], name, known)
  if (top.steps === undefined) source.wrong([], 'The file has no steps.')
  return {
    file,
    name: top.name === undefined ? file : (source.text(['name'], top.name) ?? file),
    server: { autoApprove: isOn('auto_approve'), requireSecure: isOn('require_secure') },
    answers: readAnswers(source, top.webhook),
    vars: vars ?? {},
    steps: top.steps === undefined ? [] : readSteps(source, ['steps'], top.steps, known, routes),
    teardown: top.teardown === undefined ? [] : readSteps(source, ['teardown'], top.teardown, known, routes),
  }
}

function readAnswers(source: Source, value: unknown): Scenario['answers'] {
  if (value === undefined) return [200]
  const webhook = source.record(['webhook'], value, ['respond'])
  const answers = parseScript(String(webhook?.respond ?? '200'))
  if (answers === undefined) source.wrong(['webhook', 'respond'], 'respond must be a list such as 500,timeout,200.')
  return answers ?? [200]
}

function readSteps(source: Source, path: Path, value: unknown, known: Set<string>, routes: readonly Route[]): Step[] {
  return (source.list(path, value) ?? []).flatMap((it, i) => readStep(source, [...path, i], it, known, routes) ?? [])
}

function readStep(
  source: Source,
  path: Path,
  value: unknown,
  known: Set<string>,
  routes: readonly Route[],
): Step | undefined {
  const step = source.record(path, value, stepNames)
  if (step === undefined) return undefined
  const found = (Object.keys(membersOfKind) as Kind[]).filter((it) => Object.hasOwn(step, it))
  const [kind] = found
  if (kind === undefined || found.length > 1) return source.wrong(path, 'A step is one of call, receive, advance.')
  for (const name of Object.keys(step)) {
    const belongs = name === 'name' || name === kind || (membersOfKind[kind] as readonly string[]).includes(name)
    if (!belongs && stepNames.includes(name)) source.wrong([...path, name], `${name} has no meaning for ${kind}.`)
  }
  checkReferences(source, path, step, known)
  const common = {
    name: step.name === undefined ? `${kind} ${String(step[kind])}` : (source.text([...path, 'name'], step.name) ?? ''),
    line: source.lineOf(path),
    expect: readExpected(source, [...path, 'expect'], step.expect, kind),
    capture: readTexts(source, [...path, 'capture'], step.capture, (at, name) => declare(source, at, name, known)),
    use: readTexts(source, [...path, 'use'], step.use, (at, name) => {
      if (!kinds.some((it) => it === name)) source.wrong(at, `use names a credential: ${kinds.join(', ')}.`)
    }),
    withinMs: readWithin(source, [...path, 'within'], step.within),
  }
  checkReferences(source, path, step, known, ['use'])
  if (kind === 'advance') {
    const ms = durationMs(String(step.advance))
    if (ms === undefined)
      return source.wrong([...path, 'advance'], 'advance must be a duration such as 30s, 2h or 31d.')
    return { ...common, kind, seconds: ms / 1000 }
  }
  if (kind === 'receive') {
    const type = source.text([...path, 'receive'], step.receive)
    return type === undefined ? undefined : { ...common, kind, type }
  }
  return readCall(source, path, step, common, routes)
}

type Common = Pick<Step, 'name' | 'line' | 'expect' | 'capture' | 'use' | 'withinMs'>

function readCall(
  source: Source,
  path: Path,
  step: Members,
  common: Common,
  routes: readonly Route[],
): Step | undefined {
  const called = source.text([...path, 'call'], step.call)
  if (called === undefined) return undefined
  const raw = /^([A-Z]+)\s+(\S+)$/.exec(called)
  const target =
    raw === null ? endpointNamed(source, [...path, 'call'], called) : readRaw(source, [...path, 'call'], raw, routes)
  if (target === undefined) return undefined
  const route = 'id' in target ? target : target.route
  const as = readCaller(source, [...path, 'as'], step.as) ?? route?.caller
  if (as === undefined) {
    return source.wrong(
      [...path, 'call'],
      `${called} is not known here: say with "as" which credential it takes, or none.`,
    )
  }
  if (common.withinMs !== null && mutates({ method: target.method, repeatable: route?.repeatable })) {
    source.wrong([...path, 'within'], 'within repeats a call until it fits: only calls that change nothing take it.')
  }
  if (raw === null && step.with !== undefined) source.record([...path, 'with'], step.with)
  const idempotencyKey = step.key === undefined ? null : (source.text([...path, 'key'], step.key) ?? null)
  return { ...common, kind: 'call', target, as, with: step.with, idempotencyKey }
}

function readRaw(
  source: Source,
  at: Path,
  [, method = '', path = '']: RegExpExecArray,
  routes: readonly Route[],
): RawTarget | undefined {
  if (!methods.includes(method)) return source.wrong(at, `The method must be one of ${methods.join(', ')}.`)
  const read = readPath(filledWith(path, 'x'))
  if (!read.ok) return source.wrong(at, read.message)
  return { method, path, route: routeAmong(routes, method, withoutQuery(read.path)) }
}

function readCaller(source: Source, path: Path, value: unknown): CallStep['as'] | undefined {
  if (value === undefined) return undefined
  const found = callers.find((it) => it === value)
  return found ?? source.wrong(path, `as must be one of ${callers.join(', ')}.`)
}

function endpointNamed(source: Source, path: Path, id: string): Endpoint | undefined {
  const found = endpoints.find((it) => it.id === id)
  if (found?.streams) return source.wrong(path, `${id} answers a stream, which no step can read.`)
  if (found !== undefined) return found
  const meant = closest(
    id,
    endpoints.map((it) => it.id),
  )
  const hint = meant === undefined ? 'see `voucherctl api routes`' : `did you mean "${meant}"?`
  return source.wrong(path, `There is no endpoint "${id}": ${hint}`)
}

function readExpected(source: Source, path: Path, value: unknown, kind: Kind): Expected {
  if (value === undefined) return { that: [] }
  const names = kind === 'receive' ? ['data', 'that'] : ['status', 'code', 'replayed', 'data', 'details', 'that']
  const expect = source.record(path, value, names)
  if (expect === undefined) return { that: [] }
  const { status, code, replayed, that = [] } = expect
  if (status !== undefined && (!Number.isInteger(status) || (status as number) < 100 || (status as number) > 599)) {
    source.wrong([...path, 'status'], 'status must be a number such as 201.')
  }
  const expressions = Array.isArray(that) ? that : [that]
  if (expressions.some((it) => typeof it !== 'string')) source.wrong([...path, 'that'], 'that must be jq expressions.')
  return {
    ...(status === undefined ? {} : { status: status as number }),
    ...(code === undefined ? {} : { code: source.text([...path, 'code'], code) ?? '' }),
    ...(replayed === undefined ? {} : { replayed: source.flag([...path, 'replayed'], replayed) ?? false }),
    ...('data' in expect ? { data: expect.data } : {}),
    ...('details' in expect ? { details: expect.details } : {}),
    that: expressions as string[],
  }
}

function readTexts(
  source: Source,
  path: Path,
  value: unknown,
  each: (path: Path, name: string) => void,
): Record<string, string> {
  if (value === undefined) return {}
  const record = source.record(path, value) ?? {}
  return Object.fromEntries(
    Object.entries(record).map(([name, it]) => {
      each([...path, name], name)
      return [name, source.text([...path, name], it) ?? '']
    }),
  )
}

function readWithin(source: Source, path: Path, value: unknown): number | null {
  if (value === undefined) return null
  return durationMs(String(value)) ?? source.wrong(path, 'within must be a duration such as 10s.') ?? null
}

function declare(source: Source, path: Path, name: string, known: Set<string>): void {
  if (!VARIABLE.test(name)) source.wrong(path, `"${name}" is no name of a variable: letters, digits, _ and -.`)
  known.add(name)
}

/** Captured variables are known after their step, and to its own `use`. */
function checkReferences(
  source: Source,
  path: Path,
  step: Members,
  known: ReadonlySet<string>,
  only?: readonly string[],
): void {
  for (const [member, value] of Object.entries(step)) {
    if (only === undefined ? member === 'use' : !only.includes(member)) continue
    for (const name of referencesIn(value)) {
      if (known.has(name) || name.startsWith('env.')) continue
      const meant = closest(name, [...known])
      const hint =
        meant === undefined
          ? 'no step before this one captures it, and vars does not hold it'
          : `did you mean \${${meant}}?`
      source.wrong([...path, member], `\${${name}} is not known here: ${hint}`)
    }
  }
}
