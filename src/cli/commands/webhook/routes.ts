import { type Failure, fail } from '../../failures/failure.js'
import type { Flag } from '../../flags/flags.js'
import { type JqThread, jqNotStarted, reasonIn } from '../../output/jq.js'
import { readReceiverUrl } from './receiver-url.js'

/** Milliseconds that a jq expression may take for one delivery. */
const JQ_MS = 2_000

/** Target for deliveries of one type, of types that match a wildcard, or that match a jq expression. */
interface Route {
  readonly kind: 'type' | 'wildcard' | 'jq'
  readonly condition: string
  readonly to: URL
}

const NAME = /^[A-Za-z0-9_*-][A-Za-z0-9_.*-]*$/

/** A repeatable flag of routes; each condition may occur once. */
export const routeFlag: Flag<readonly Route[]> = {
  value: 'TYPE=URL',
  summary: 'Application of a type, wildcard or jq',
  repeatable: true,
  read: (texts) => {
    const routes: Route[] = []
    for (const it of texts) {
      // A jq expression may contain "=", so the URL begins at the first one before a scheme.
      const [, condition = '', url = ''] = /^(.+?)=(https?:.*)$/i.exec(it) ?? /^([^=]+)=(.+)$/.exec(it) ?? []
      if (condition === '') return { ok: false, message: 'must be TYPE=URL' }
      if (routes.some((route) => route.condition === condition))
        return { ok: false, message: `names ${condition} twice` }
      const to = readReceiverUrl(url)
      if (!to.ok) return to
      const kind = !NAME.test(condition) ? 'jq' : condition.includes('*') ? 'wildcard' : 'type'
      routes.push({ kind, condition, to: to.value })
    }
    return { ok: true, value: routes }
  },
}

export function matchesWildcard(pattern: string, type: string): boolean {
  const parts = pattern.split('*').map((it) => it.replaceAll(/[.]/g, '\\.'))
  return new RegExp(`^${parts.join('.*')}$`).test(type)
}

/** Selects the application for a delivery: routes of an exact type first, then the others in order. */
export class Router {
  readonly #routes: readonly Route[]
  readonly #jq: JqThread
  readonly #signal: AbortSignal
  /** The thread runs one expression at a time. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(routes: readonly Route[], jq: JqThread, signal: AbortSignal) {
    const exact = routes.filter(({ kind }) => kind === 'type')
    this.#routes = [...exact, ...routes.filter(({ kind }) => kind !== 'type')]
    this.#jq = jq
    this.#signal = signal
  }

  /** Compiles the jq expressions. */
  async check(): Promise<Failure | undefined> {
    for (const { kind, condition } of this.#routes) {
      if (kind !== 'jq') continue
      const ran = await this.#jq.run(condition, '', this.#signal)
      if (ran === 'not started') return jqNotStarted()
      if (typeof ran === 'string' || ran.exitCode === 0) continue
      const message = `--route: ${condition} is neither an update type nor a valid jq expression: ${reasonIn(ran.stderr)}.`
      return fail('JQ_INVALID', message)
    }
    return undefined
  }

  /** Returns the URL of the first matching route. @param body JSON of a verified delivery */
  async select(type: string | null, body: Buffer): Promise<URL | undefined> {
    for (const { kind, condition, to } of this.#routes) {
      const fits =
        kind === 'jq'
          ? await this.#isTrue(condition, body)
          : type !== null && (kind === 'type' ? condition === type : matchesWildcard(condition, type))
      if (fits) return to
    }
    return undefined
  }

  close(): void {
    this.#jq.close()
  }

  /** True unless the expression fails or its first result is false, null or missing. */
  async #isTrue(expression: string, body: Buffer): Promise<boolean> {
    const run = () => this.#jq.run(expression, body, AbortSignal.any([this.#signal, AbortSignal.timeout(JQ_MS)]))
    const turn = this.#turn.then(run)
    this.#turn = turn
    const ran = await turn
    if (typeof ran === 'string' || ran.exitCode !== 0) return false
    return !['', 'false', 'null'].includes(ran.stdout.split('\n')[0] ?? '')
  }
}
