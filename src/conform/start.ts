import { setTimeout } from 'node:timers/promises'
import type { Transport } from '../client/transport.js'
import { contract } from '../contract/index.js'
import { groups, type Need } from './group.js'
import type { Paths } from './paths.js'
import { type Probe, ruleOf } from './probe.js'
import { allProbes } from './probes/index.js'
import { CredentialRefused, type Leftover, NotReachable, NotUsable, type ProbeResult } from './result.js'
import { runProbes } from './run.js'
import { missing, type Offer, RunResources } from './run-resources.js'
import { Secrets } from './secrets.js'
import { membersOrNone, Wire, type WireExchange } from './wire.js'

export interface ConformOptions extends Omit<Offer, 'hasSecure'> {
  readonly baseUrl: string
  readonly plain: Transport
  /** The encrypted transport, if the user chose it for all calls. */
  readonly encrypted?: Transport | undefined
  /** Groups, rules or probes to run; all if empty. */
  readonly only: readonly string[]
  /** Probes that already have a result of an earlier run. */
  readonly done?: ReadonlySet<string>
  readonly readOnly: boolean
  /** Maximum calls per second. */
  readonly rate: number
  /** Ms for each call; default 30 s. */
  readonly timeoutMs?: number
  /** Distinguishes the objects of this run; letters and digits. */
  readonly run: string
  readonly signal: AbortSignal
  onResult(result: ProbeResult): void
  onExchange?(exchange: WireExchange): void
  /** Learns which endpoints the platform has, to settle the results after the run. */
  readonly paths?: Paths
  /** Learns which credentials the platform stopped accepting. */
  readonly refused?: Set<Need>
}

/** Returns the probes that `only` names, and the unknown names. */
export function selectProbes(only: readonly string[]) {
  const fits = (name: string) => (probe: (typeof allProbes)[number]) =>
    probe.group === name || ruleOf(probe) === name || probe.id === name
  const probes = only.length === 0 ? allProbes : allProbes.filter((it) => only.some((name) => fits(name)(it)))
  return { probes, unknown: only.filter((name) => !allProbes.some(fits(name))) }
}

/** Words that `only` accepts: groups and rules. */
export const selectable = () => [...groups, ...new Set(allProbes.map(ruleOf))]

/** A read for each kind of credential. */
const reads = { token: contract.templates.list, jwt: contract.apps.list, bot: contract.webhook.info }

/**
 * Runs the selected probes against a platform.
 * @throws NotReachable if the platform never responds, CredentialRefused if it refuses a credential that they need
 */
export async function conform(options: ConformOptions): Promise<readonly Leftover[]> {
  const { baseUrl, plain, encrypted, only, done, readOnly, rate, run, signal, onResult, onExchange } = options
  const now = () => performance.now()
  const pause = (ms: number) => setTimeout(ms, undefined, { signal }).catch(() => undefined)
  const secrets = new Secrets()
  secrets.addCredentials(options.credentials)
  const wire = new Wire({
    baseUrl,
    plain,
    encrypted,
    rate,
    maxWaitMs: options.maxWaitMs,
    signal,
    pause,
    now,
    timeoutMs: options.timeoutMs,
    paths: options.paths,
    ...(onExchange === undefined ? {} : { observe: onExchange }),
  })
  const bootstrap = await wire.send({ method: 'GET', path: '/api/v1/secure/bootstrap', headers: {}, plain: true })
  const hasSecure = membersOrNone(bootstrap.json).enabled === true
  const resources = new RunResources({ ...options, run, secrets, pause, hasSecure })
  const probes = selectProbes(only).probes.filter((it) => !done?.has(it.id))
  const serves = new Map<Need, () => Promise<void>>()
  for (const kind of ['token', 'jwt', 'bot'] as const) {
    const credential = options.credentials[kind]
    if (credential === undefined || !probes.some(({ needs }) => needs.includes(kind))) continue
    const headers = { accept: 'application/json', authorization: `Bearer ${credential}` }
    const read = () => wire.send({ method: 'GET', path: reads[kind].path, headers })
    // The probes report an outage.
    const first = await read().catch(() => undefined)
    if (first?.status === 401) throw new CredentialRefused(`The platform refuses ${missing[kind]}.`)
    serves.set(kind, async () => {
      const { status, json } = await read()
      if (first === undefined || (status === first.status && typeof json === typeof first.json)) return
      const form = json === undefined ? ' without JSON' : ''
      if (status !== 401) throw new NotReachable(`${reads[kind].path} now has status ${status}${form}.`)
      options.refused?.add(kind)
      throw new NotUsable(`The platform no longer accepts ${missing[kind]}.`)
    })
  }
  const assertServes = async ({ needs }: Probe) => {
    const own = [...serves].filter(([kind]) => needs.includes(kind))
    for (const [, repeat] of own.length > 0 ? own : [...serves].slice(0, 1)) await repeat()
  }
  return runProbes({ baseUrl, probes, resources, wire, readOnly, signal, now, onResult, assertServes })
}
