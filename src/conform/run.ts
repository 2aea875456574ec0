import { curlOf } from './curl.js'
import type { Group } from './group.js'
import { type Probe, ruleOf } from './probe.js'
import { Difference, ProbeContext } from './probe-context.js'
import { type Leftover, NotApplicable, NotReachable, NotUsable, type ProbeResult } from './result.js'
import type { RunResources } from './run-resources.js'
import type { Wire } from './wire.js'

interface RunOptions {
  readonly baseUrl: string
  readonly probes: readonly (Probe & { readonly group: Group })[]
  readonly resources: RunResources
  readonly wire: Wire
  /** True to run only probes that cannot change anything. */
  readonly readOnly: boolean
  readonly signal: AbortSignal
  /** Ms of a clock that only moves forward. */
  now(): number
  onResult(result: ProbeResult): void
  /** Throws if the platform no longer serves the callers of a probe, so that its responses say nothing about the rule. */
  assertServes?(probe: Probe): Promise<void>
}

/** Number of successive probes without a response after which the platform counts as not reachable. */
const SILENT_MAX = 3

/** Runs the probes in order and removes what they created. Resolves to the objects left on the platform. */
export async function runProbes(options: RunOptions): Promise<readonly Leftover[]> {
  const { probes, resources, wire, signal, onResult, now } = options
  const context = new ProbeContext(resources, wire)
  let silent = 0
  for (const probe of probes) {
    if (signal.aborted) break
    const startedAt = now()
    wire.probe = probe.id
    wire.last = undefined
    const outcome = await outcomeOf(probe, context, options, silent)
    // Give an interrupted probe no result, so that a resumed run repeats it.
    if (signal.aborted) break
    silent = outcome.result === 'not_reachable' ? silent + 1 : outcome.result === 'not_applicable' ? silent : 0
    const { id, group, title, basis, kind } = probe
    const none = { reason: null, missing_path: null, expected: null, observed: null, request: null, variables: {} }
    const base = { probe: id, group, rule: ruleOf(probe), title, basis, kind }
    onResult({ ...base, ...none, ...outcome, duration_ms: Math.round(now() - startedAt) })
  }
  wire.probe = 'clean-up'
  wire.isCleaningUp = true
  return resources.cleanUp()
}

type Outcome = Pick<ProbeResult, 'result'> & Partial<ProbeResult>

async function outcomeOf(probe: Probe, context: ProbeContext, options: RunOptions, silent: number): Promise<Outcome> {
  const { resources } = options
  const hide = (text: string) => resources.secrets.hide(text)
  const reason = whyNot(probe, options)
  if (reason !== undefined) return { result: 'not_applicable', reason }
  if (silent >= SILENT_MAX) {
    return { result: 'not_reachable', reason: `The platform did not respond to the ${SILENT_MAX} probes before.` }
  }
  try {
    await probe.run(context)
    return { result: 'holds' }
  } catch (thrown) {
    const { last } = context.wire
    const isOutage = thrown instanceof NotReachable
    const error = (!isOutage && (await options.assertServes?.(probe).catch((it: unknown) => it))) || thrown
    context.wire.last = last
    if (error instanceof Difference) return differenceOf(probe, error, context.wire, options)
    if (error instanceof NotApplicable) return { result: 'not_applicable', reason: hide(error.message) }
    if (error instanceof NotReachable) return { result: 'not_reachable', reason: hide(error.message) }
    if (error instanceof NotUsable) return { result: 'not_usable', reason: hide(error.message) }
    const what = hide(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    const isForm = error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError
    // Without a response, the platform cannot be the cause: the error is the probe's.
    if (!isForm || last === undefined) return { result: 'failed', reason: what }
    const form = new Difference('a response of the form of the contract', what, last)
    return differenceOf(probe, form, context.wire, options)
  }
}

function differenceOf(probe: Probe, error: Difference, wire: Wire, { baseUrl, resources }: RunOptions): Outcome {
  const { expected, observed, isWording } = error
  const hide = (text: string) => resources.secrets.hide(text)
  const request = error.request === undefined ? null : curlOf(baseUrl, error.request, resources.secrets)
  const missing_path = wire.paths.missing(error.request) ?? null
  const basis = probe.basis === 'partly_specified' ? error.basis : probe.basis
  const kind = isWording ? 'wording' : probe.kind
  const variables = resources.secrets.ownersIn(request ?? '')
  const texts = { expected: hide(expected), observed: hide(observed), request, variables }
  return { result: 'differs', basis, kind, missing_path, ...texts }
}

/** Says why a probe cannot run; undefined if it can. */
function whyNot(probe: Probe, { resources, wire, readOnly }: RunOptions): string | undefined {
  if (readOnly && !probe.reads) return 'Needs calls that change something: not with --read-only.'
  if (probe.plain && wire.isEncrypted) return 'The encrypted transport cannot carry its request or response.'
  const lacking = resources.lacks(probe.needs)
  if (lacking !== undefined) return lacking
  const { vouchers = 0, waitsMs = 0 } = probe
  if (vouchers > resources.quotaLeft) return `Needs a --quota of ${vouchers - resources.quotaLeft} more vouchers.`
  if (waitsMs > resources.offer.maxWaitMs) return `Needs --max-wait ${Math.ceil(waitsMs / 1000)}s.`
  return undefined
}
