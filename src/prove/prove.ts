import { canonicalJson } from '../domain/idempotency.js'
import { closest } from '../values/closest.js'
import { asMembers } from '../values/json.js'
import { CannotProve, endingOf, shownOutput } from './cannot-prove.js'
import { canBeDisturbed, isSlow, pairsOf, UNANSWERED_MS, type Variant, variantIn, variantsOf } from './disturbances.js'
import type { Facts } from './judge.js'
import { isAccepted, type Outcome } from './record.js'
import { reportOf } from './report.js'
import type { ProveReport } from './result.js'
import { Runner, type RunnerOptions, type RunSettings } from './runner.js'

/** Patience with a variant: a multiple of the undisturbed run, and time beyond it for calls that get no response. */
const PATIENCE = { times: 5, ms: 30_000 }
const BUDGET_MS = 60_000
/** Time before the start of a last variant without a response. */
const SPARE_MS = 5_000
/** Patience with the first run, whose length nobody knows. */
const FIRST_PATIENCE_MS = 60_000

/** Time for the calls of an app that works after the action. */
const APP_QUIET_MS = 1_000

export interface ProveOptions extends RunnerOptions {
  /** Repeats of an action that is not done; default 1. */
  readonly again?: number | undefined
  readonly patienceMs?: number | undefined
  /** Default 60 s. */
  readonly budgetMs?: number | undefined
  readonly only?: string | undefined
  /** True to report the variants as not run. */
  readonly list?: boolean | undefined
  /** Default 1. */
  readonly jobs?: number | undefined
  /** True to record the platform's side of the first finding as a scenario. */
  readonly records?: boolean | undefined
  /** Called after each variant. */
  onProgress?(done: number, total: number, id: string): void
}

export type Proved =
  | {
      readonly ok: true
      readonly report: ProveReport
      readonly interrupted: boolean
      /** The platform's side of the first finding, YAML; null without a finding or `records`. */
      readonly scenario: string | null
    }
  | { readonly ok: false; readonly message: string; readonly hint: string }

/** Disturbs each call and delivery of a program, and judges what it does. */
export async function prove(options: ProveOptions): Promise<Proved> {
  let runner: Runner | undefined
  const others: Runner[] = []
  const stop = () => {
    for (const it of [runner, ...others]) it?.stop()
  }
  options.signal.addEventListener('abort', stop)
  try {
    runner = await Runner.open(options)
    const trials = await runUndisturbed(runner, options)
    const ordersDiffer = await eachRunIsAnOrder(runner, trials, options)
    const variants = chosenVariants(trials, options)
    for (let job = 1; job < (options.jobs ?? 1); job += 1) others.push(await Runner.open(options))
    const done = options.list
      ? { outcomes: [], failed: [], notRun: variants }
      : await runVariants([runner, ...others], variants, trials, options)
    const facts = factsOf(trials, done.outcomes, ordersDiffer)
    const report = reportOf({ ...done, trials, facts, lacks: [...lacksOf(options), ...differencesOf(trials)] })
    requireEffect(report, options)
    const interrupted = options.signal.aborted
    return { ok: true, report, interrupted, scenario: await scenarioOf(runner, report, trials, options) }
  } catch (error) {
    if (!(error instanceof CannotProve)) throw error
    return { ok: false, message: error.message, hint: error.hint }
  } finally {
    options.signal.removeEventListener('abort', stop)
    await Promise.all([runner, ...others].map((it) => it?.close()))
  }
}

const interrupted = () => new CannotProve('Interrupted before anything was judged.', 'Run the command again.')

const REPEATABLE = 'Make the program repeatable: --reset puts its own files and its database back before each run.'

/** For `--only`: the undisturbed runs alone. */
const UNDISTURBED = 'undisturbed'

type Trials = readonly [Outcome, Outcome]

/** Runs the program twice without disturbance. @throws CannotProve unless it succeeds, calls and behaves alike */
async function runUndisturbed(
  runner: Runner,
  { app, signal, patienceMs = FIRST_PATIENCE_MS }: ProveOptions,
): Promise<Trials> {
  const settings = { again: 0, patienceMs, quietMs: app === undefined ? 0 : APP_QUIET_MS }
  const one = await runner.run(undefined, settings)
  requireUsable(one, runner.secrets, signal)
  const two = await runner.run(undefined, { ...settings, changesBytes: true })
  const refused = refusedDelivery(two)
  if (refused !== undefined && refusedDelivery(one) === undefined) {
    throw new CannotProve(
      `The receiver responded ${refused} to a delivery whose JSON has spaces and escapes: it computes the signature over a body that it has written anew.`,
      'Verify X-Platform-Signature-V2 over the raw bytes, before any parser reads the body.',
    )
  }
  if (!signal.aborted && two.runs[0]?.believesDone === false) {
    const [exit] = two.exits
    throw new CannotProve(
      `The first undisturbed run succeeded, the second one did not.${exit ? shownOutput(exit, runner.secrets) : ''}`,
      REPEATABLE,
    )
  }
  requireUsable(two, runner.secrets, signal)
  const kinds = [one, two].map((it) =>
    canonicalJson([it.after.map(({ status }) => status).sort(), it.calls.length > 0]),
  )
  if (kinds[0] !== kinds[1]) {
    throw new CannotProve(
      'Two undisturbed runs ended differently: the vouchers have other states after the second run.',
      REPEATABLE,
    )
  }
  return [one, two]
}

function requireUsable(outcome: Outcome, secrets: Readonly<Record<string, string>>, signal: AbortSignal): void {
  if (signal.aborted) throw interrupted()
  const exit = outcome.exits.find((it) => it.trouble !== undefined) ?? outcome.exits[0]
  const { trouble } = exit ?? {}
  if (trouble?.kind === 'not_started') {
    throw new CannotProve(
      `${trouble.program} could not be started (${trouble.code}).`,
      'Check its name and path: after --, as in a shell.',
    )
  }
  if (trouble?.kind === 'too_much_output') {
    throw new CannotProve('The program printed more than 16 MiB, and was ended.', 'Let it write less, or into a file.')
  }
  if (trouble?.kind === 'daemon') {
    throw new CannotProve(
      `The program ended and left running: ${trouble.processes}.`,
      'What runs on in the background cannot be judged: start it with --app, or wait for it in the program.',
    )
  }
  if (outcome.unjudged !== undefined) {
    throw new CannotProve(outcome.unjudged, 'Let the program end, or give it more time with --patience.')
  }
  const [run] = outcome.runs
  if (exit !== undefined && run?.believesDone !== true) {
    throw new CannotProve(
      `The program fails undisturbed: ${endingOf(exit)}.${shownOutput(exit, secrets)}`,
      'It must end with exit code 0 against VOUCHERCTL_BASE_URL. It has no terminal and no input.',
    )
  }
  if (!outcome.calls.some((it) => it.nth > 0)) {
    throw new CannotProve(
      'Nothing to disturb: it did not call the server at VOUCHERCTL_BASE_URL.',
      "Let it read its address from there, or name the variable that it reads: --env SHOP_URL='{base_url}'.",
    )
  }
  const refused = refusedDelivery(outcome)
  if (refused !== undefined) {
    throw new CannotProve(
      `The receiver responded ${refused} to a genuine delivery, whose signature is right.`,
      'Its secret must be VOUCHERCTL_WEBHOOK_SECRET. `voucherctl webhook listen` shows why a receiver refuses.',
    )
  }
}

/** Status of a delivery that the receiver refused undisturbed. */
function refusedDelivery({ deliveries }: Outcome): string | undefined {
  const refused = deliveries.find((it) => !isAccepted(it.status))
  return refused && (refused.status === null ? 'nothing' : String(refused.status))
}

/** Calls that can be disturbed, in the order of the first run. */
const recorded = ({ calls }: Outcome) =>
  calls.flatMap(({ endpoint, nth }) => (nth > 0 && canBeDisturbed(endpoint) ? [{ endpoint, nth }] : []))

function chosenVariants([one]: Trials, { only, app, isFunction = false }: ProveOptions): Variant[] {
  const all = variantsOf(
    recorded(one),
    one.deliveries.map((it) => it.type),
    { programs: !isFunction, app: app !== undefined },
  )
  if (only === undefined) return all
  if (only === UNDISTURBED) return []
  const variant = variantIn(only)
  const [first = ''] = only.split('+')
  // A second disturbance may be of a call that only the first one causes.
  if (variant !== undefined && all.some((it) => it.id === first)) return [variant]
  const near = closest(
    only,
    all.map((it) => it.id),
  )
  const hint = near === undefined ? '' : `Did you mean ${near}? `
  throw new CannotProve(`--only names no variant: ${only}.`, `${hint}List them with --list.`)
}

/** A run in which nothing was disturbed and judged proves nothing. */
function requireEffect({ runs, findings, not_proved }: ProveReport, { only, list, signal }: ProveOptions): void {
  if (findings.length > 0 || runs.held > 0 || only === UNDISTURBED || list) return
  if (signal.aborted) throw interrupted()
  const unjudged = not_proved.find((it) => it.startsWith('Not judged: '))
  const why = runs.variants === 0 ? 'No variant fitted into the budget.' : 'No variant had an effect.'
  throw new CannotProve(
    `Nothing was disturbed. ${unjudged ?? why}`,
    'Give it more time with --budget and --patience, or list the variants with --list.',
  )
}

/** Repeats the first finding, and records what the platform got. */
async function scenarioOf(runner: Runner, report: ProveReport, trials: Trials, options: ProveOptions) {
  const [finding] = report.findings
  if (!options.records || options.list || finding === undefined || options.signal.aborted) return null
  await runner.run(variantIn(finding.only), settingsOf(trials, options))
  return runner.recording()
}

/** Settings of the variants, by what the undisturbed runs took. */
function settingsOf(
  trials: Trials,
  { again = 1, patienceMs }: Pick<ProveOptions, 'again' | 'patienceMs'>,
): RunSettings {
  const worksLater = trials.some(({ calls, runs: [run] }) => calls.some((it) => it.startedAt > (run?.endedAt ?? 0)))
  const longest = Math.max(...trials.map((it) => it.durationMs))
  return {
    again,
    patienceMs: patienceMs ?? PATIENCE.times * longest + PATIENCE.ms,
    quietMs: worksLater ? APP_QUIET_MS : 0,
  }
}

/** Runs variants until all are done or the budget is spent, then pairs of disturbances. */
async function runVariants(
  runners: readonly Runner[],
  variants: readonly Variant[],
  trials: Trials,
  options: ProveOptions,
) {
  const { budgetMs = BUDGET_MS, only, signal, onProgress } = options
  const deadline = only === undefined ? performance.now() + budgetMs : Number.POSITIVE_INFINITY
  const settings = settingsOf(trials, options)
  const outcomes: Outcome[] = []
  const failed: { readonly id: string; readonly reason: string }[] = []
  const queue = [...variants]
  const seen = new Set([sequenceOf(trials[0])])
  /** The longest variant without a response, and whether one has yet to run. */
  let slow = { ms: UNANSWERED_MS, isDue: budgetMs > 2 * UNANSWERED_MS }
  const take = (variant: Variant, outcome: Outcome) => {
    outcomes.push(outcome)
    if (isSlow(variant)) slow = { ms: Math.max(slow.isDue ? 0 : slow.ms, outcome.durationMs), isDue: false }
    const sequence = sequenceOf(outcome)
    if (only === undefined && !seen.has(sequence)) {
      queue.push(...pairsOf(variant, laterCalls(variant, outcome), !options.isFunction))
    }
    seen.add(sequence)
  }
  const work = async (runner: Runner) => {
    while (!signal.aborted && performance.now() < deadline) {
      const variant = takeNext(queue, deadline - performance.now(), slow)
      if (variant === undefined) return
      try {
        const outcome = await runner.run(variant, settings)
        if (signal.aborted) queue.unshift(variant)
        else take(variant, outcome)
      } catch (error) {
        if (!(error instanceof CannotProve)) throw error
        failed.push({ id: variant.id, reason: error.message })
      }
      onProgress?.(outcomes.length, outcomes.length + queue.length, variant.id)
    }
  }
  await Promise.all(runners.map(work))
  return { outcomes, failed, notRun: queue }
}

/** Takes the next variant that fits into the time left; of a long budget, the end belongs to one without a response. */
function takeNext(queue: Variant[], msLeft: number, slow: { readonly ms: number; readonly isDue: boolean }) {
  const fits = (it: Variant) => !isSlow(it) || msLeft >= slow.ms
  const isLast = slow.isDue && msLeft < slow.ms + SPARE_MS
  const chosen = (isLast ? queue.find((it) => isSlow(it) && fits(it)) : undefined) ?? queue.find(fits)
  if (chosen !== undefined) queue.splice(queue.indexOf(chosen), 1)
  return chosen
}

/** What the platform did with each call: two variants with one sequence differ in nothing that a second disturbance could show. */
const sequenceOf = ({ calls }: Outcome) =>
  calls.map((it) => `${it.run} ${it.endpoint} ${it.fault ?? it.status}`).join('\n')

/** The calls of the first run after the disturbed one. */
function laterCalls({ strikes: [strike] }: Variant, outcome: Outcome) {
  const calls = recorded({ ...outcome, calls: outcome.calls.filter((it) => it.run === 0) })
  const at = calls.findIndex((it) => it.endpoint === strike?.endpoint && it.nth === strike.nth)
  return calls.slice(at + 1)
}

/** What the judge knows of the undisturbed runs, and of whether the program continues after a refusal. */
export function factsOf([one, two]: Trials, outcomes: readonly Outcome[], ordersDiffer: boolean): Facts {
  const refusal = outcomes.find(({ id }) => /^[^+]+#1\/(?:taken|refused_\d+)$/.test(id) && hasLater(one, id))
  const goesOn = refusal && hasLater({ ...refusal, calls: refusal.calls.filter((it) => it.run === 0) }, refusal.id)
  return {
    undisturbed: one,
    ordersDiffer,
    stateRepeats: one.state === two.state,
    goesOn,
  }
}

/**
 * True if each run of the action is an order of its own: its order ids are new in each run, and a run after one that is
 * done issues again, or is refused. A program that remembers its order does neither.
 */
export async function eachRunIsAnOrder(
  runner: Runner,
  [one, two]: Trials,
  options: Pick<ProveOptions, 'patienceMs'>,
): Promise<boolean> {
  if (orderIds(one) === orderIds(two)) return false
  const twice = await runner.run(undefined, { ...settingsOf([one, two], { ...options, again: 0 }), runsTwice: true })
  return twice.after.length > one.after.length || twice.runs.some((it) => !it.believesDone)
}

/** True if a run has further calls of the endpoint whose first call a variant disturbs. */
const hasLater = ({ calls }: Outcome, id: string) => calls.some((it) => it.endpoint === id.split('#')[0] && it.nth > 1)

/** The own ids that a program gives its orders. */
const orderIds = ({ calls }: Outcome) =>
  calls
    .map(({ body }) => {
      const { external_issue_id: issue, reference } = (body ?? {}) as Record<string, unknown>
      return `${issue ?? ''} ${reference ?? ''}`
    })
    .sort()
    .join('\n')

/** Says in which members the calls of two undisturbed runs differ, apart from ids, times and secrets. */
function differencesOf([one, two]: Trials): string[] {
  const endpoints = [...new Set([...recorded(one), ...recorded(two)].map((it) => it.endpoint))].sort()
  const differences = endpoints.flatMap((name) => {
    const [before, after] = [one, two].map(({ calls }) => calls.filter((it) => it.endpoint === name))
    if (before?.length !== after?.length) return [`${name}: ${before?.length} calls, then ${after?.length}`]
    const members = before?.flatMap(({ body }, at) => differingMembers(body, after?.[at]?.body)) ?? []
    return members.length === 0 ? [] : [`${name}: ${[...new Set(members)].join(', ')}`]
  })
  if (differences.length === 0) return []
  return [`That its calls are always alike: they differ between two undisturbed runs (${differences.join('; ')}).`]
}

function differingMembers(one: unknown, two: unknown): string[] {
  const [before, after] = [asMembers(one) ?? {}, asMembers(two) ?? {}]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const isFree = (name: string) => FREE.test(name) || FREE_VALUE.test(String(before[name]))
  return names.filter((it) => !isFree(it) && canonicalJson(before[it]) !== canonicalJson(after[it]))
}

/** Ids and credentials, which may differ. */
const FREE = /(?:^|_)(?:id|reference|credential|key|time|at)$/
/** Instants, UUIDs and long numbers, which are times and ids. */
const FREE_VALUE = /^(?:\d{4}-\d\d-\d\dT|[\da-f]{8}-[\da-f]{4}-|\d{9,}$)/i

/** What cannot be judged for lack of an option. */
function lacksOf({ state, webhook }: ProveOptions): string[] {
  if (webhook === undefined) return ['Deliveries, because there is no --webhook.']
  return state === undefined ? ['What deliveries do to the program, because there is no --state.'] : []
}
