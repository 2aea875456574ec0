import { randomBytes } from 'node:crypto'
import { canonicalJson } from '../domain/idempotency.js'
import { pause } from '../files/pause.js'
import type { Seed } from '../server/seed/schema.js'
import { parseJson } from '../values/json.js'
import { App, type AppOptions } from './app.js'
import { CannotProve, endingOf, shownOutput } from './cannot-prove.js'
import { isKill, type Variant } from './disturbances.js'
import { Ground } from './ground.js'
import { leaksOf } from './leaks.js'
import type { Exit, Start, Started } from './process.js'
import { believesDone, type Ledger, type Maker, type Moment, type Outcome, type Run } from './record.js'
import { Relay } from './relay.js'
import { type Planted, plant } from './strike.js'

/** Time for the deliveries of a variant to settle. */
const SETTLE_MS_MAX = 10_000
const SETTLE_POLL_MS = 5

export interface RunnerOptions {
  readonly action: Start
  /** True if the action is a function of this process, which cannot be killed. */
  readonly isFunction?: boolean | undefined
  readonly app?: AppOptions | undefined
  readonly state?: Start | undefined
  readonly reset?: Start | undefined
  readonly seed?: Seed | undefined
  readonly webhook?: { readonly bot: string; readonly url: URL } | undefined
  /** Further variables: texts with names in braces, such as `{base_url}`. */
  readonly variables: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

export interface RunSettings {
  readonly again: number
  readonly patienceMs: number
  /** Time without a call after which an app is still. */
  readonly quietMs: number
  /** True to run an action once more although it is done. */
  readonly runsTwice?: boolean
  /** True to deliver other bytes of the same value. */
  readonly changesBytes?: boolean
}

/** What happens during one variant. */
interface Trial {
  readonly isDisturbed: boolean
  readonly runs: Run[]
  readonly exits: { readonly exit: Exit; readonly maker: Maker }[]
  readonly moments: Moment[]
  unjudged?: string
}

/** Runs programs against a server of their own, once for each variant. */
export class Runner {
  readonly #options: RunnerOptions
  readonly #ground: Ground
  readonly #relay: Relay | undefined
  readonly #before: Ledger
  readonly #app: App | undefined
  #actions: readonly Started[] = []

  private constructor(options: RunnerOptions, ground: Ground, relay: Relay | undefined, before: Ledger) {
    this.#options = options
    this.#ground = ground
    this.#relay = relay
    this.#before = before
    this.#app = options.app && new App(options.app)
  }

  static async open(options: RunnerOptions): Promise<Runner> {
    const { seed, webhook } = options
    const secret = randomBytes(24).toString('base64url')
    const relay = webhook && (await Relay.open(webhook.url, secret))
    try {
      const ground = await Ground.open(seed, webhook && relay && { bot: webhook.bot, url: relay.url, secret })
      return new Runner(options, ground, relay, await ground.ledger())
    } catch (error) {
      relay?.close()
      throw error
    }
  }

  /** Secrets of the platform by their names. */
  get secrets(): Readonly<Record<string, string>> {
    return this.#ground.secrets
  }

  /** The last run as a scenario, YAML; null if the platform got nothing that a scenario can repeat. */
  recording(): Promise<string | null> {
    return this.#ground.recording()
  }

  /** Ends all programs, then the server. */
  async close(): Promise<void> {
    this.stop()
    await this.#app?.stop()
    this.#relay?.close()
    await this.#ground.close()
  }

  /** Kills all programs that run. */
  stop(): void {
    for (const it of this.#actions) it.kill?.()
    this.#app?.kill()
  }

  /** Runs the action from the saved state, disturbed by a variant, and repeats it until it is done. */
  async run(variant: Variant | undefined, settings: RunSettings): Promise<Outcome> {
    const { changesBytes = false } = settings
    const ground = this.#ground
    const startedAt = performance.now()
    const trial: Trial = { isDisturbed: variant !== undefined, runs: [], exits: [], moments: [] }
    const waited = new Set<string>()
    await this.#restore(changesBytes)
    const strikes = variant?.strikes ?? []
    const planted = strikes.map((it) => plant(it, this.#stage(trial)))
    const stopWatching = ground.faults.onWaitEnd((requestId, kind, end) => {
      if (kind !== 'hold' && end === 'time') waited.add(requestId)
    })
    try {
      await this.#act(trial, 0, strikes.some((it) => it.kind === 'twins') ? 2 : 1, settings)
      const tookEffect = planted.map((it) => it.tookEffect())
      endAll(planted)
      await this.#repeat(trial, variant, settings)
      const { state, copyChanged, copySent } = await this.#readState(trial, variant)
      await this.#stopApp(trial)
      const calls = ground.calls.toSorted((a, b) => a.startedAt - b.startedAt)
      return {
        id: variant?.id ?? 'undisturbed',
        tookEffect: strikes.every(({ kind }, index) => (kind === 'stale' ? copySent : tookEffect[index])),
        runs: trial.runs,
        calls,
        deliveries: this.#relay?.delivered ?? [],
        before: this.#before,
        taken: planted.map((it) => it.taken?.()).find((it) => it !== undefined),
        after: await ground.ledger(),
        state,
        copyChanged,
        waited: calls.filter((it) => waited.has(it.requestId)),
        leaks: leaksOf(trial.exits, state, calls, ground.secrets),
        moments: trial.moments,
        ...(trial.unjudged !== undefined && { unjudged: trial.unjudged }),
        exits: trial.exits.map((it) => it.exit),
        durationMs: performance.now() - startedAt,
      }
    } finally {
      endAll(planted)
      stopWatching()
      ground.faults.clear()
      this.stop()
    }
  }

  async #restore(changesBytes: boolean): Promise<void> {
    await this.#app?.stop()
    await this.#ground.restore()
    this.#relay?.restart(changesBytes, () => this.#ground.now())
    await this.#command('reset')
  }

  #stage(trial: Trial) {
    const note = (text: string) => void trial.moments.push({ at: this.#ground.now(), who: 'prove', text })
    return {
      ground: this.#ground,
      relay: this.#relay,
      kill: (maker: Maker) => {
        note(`the ${maker} was killed`)
        if (maker === 'app') this.#app?.kill()
        else for (const it of this.#actions) it.kill?.()
      },
      freeze: (maker: Maker) => {
        if (maker === 'app') this.#app?.freeze()
        else for (const it of this.#actions) it.freeze?.()
      },
      restartApp: () => this.#startApp(trial),
      note,
    }
  }

  /** Repeats an action that is not done, as a person would; one that was killed at least once. */
  async #repeat(trial: Trial, variant: Variant | undefined, settings: RunSettings): Promise<void> {
    const { again, runsTwice = false } = settings
    if (runsTwice) await this.#act(trial, 1, 1, settings)
    const isKilled = variant?.strikes.some((it) => isKill(it.kind)) ?? false
    const repeats = variant === undefined ? 0 : isKilled ? Math.max(1, again) : again
    const { signal } = this.#options
    for (let number = 1; number <= repeats && !believesDone(trial) && !signal.aborted; number += 1) {
      this.#ground.faults.clear()
      await this.#act(trial, number, 1, settings)
    }
  }

  /** Runs the action, or two at once, until it has ended and all that it caused has settled. */
  async #act(trial: Trial, number: number, count: number, settings: RunSettings): Promise<void> {
    const { patienceMs, quietMs } = settings
    const ground = this.#ground
    await this.#startApp(trial)
    ground.run = number
    const startedAt = ground.now()
    trial.moments.push({ at: startedAt, who: 'program', text: count === 1 ? 'started' : 'started twice at once' })
    this.#actions = Array.from({ length: count }, () => this.#options.action(this.#envOf('action')))
    const hasProcess = this.#actions.some((it) => it.kill !== undefined)
    const exits = await this.#waitFor(trial, patienceMs)
    this.#actions = []
    for (const exit of exits) {
      const isDone = exit.code === 0 && exit.trouble === undefined
      trial.exits.push({ exit, maker: 'action' })
      const ending = endingOf(exit)
      trial.runs.push({ number, believesDone: isDone, ending, startedAt, endedAt: ground.now() })
      trial.moments.push({ at: ground.now(), who: 'program', text: `said ${isDone ? 'done' : 'not done'} (${ending})` })
    }
    await ground.settled(hasProcess, quietMs)
    await this.#settleDeliveries(trial)
  }

  /** Waits for the actions until the end of patience. A function cannot be ended, only left alone. */
  async #waitFor(trial: Trial, patienceMs: number): Promise<readonly Exit[]> {
    const { signal } = this.#options
    let leave = () => {}
    const left = new Promise<Exit>((resolve) => {
      leave = () => resolve({ code: null, stdout: '', stderr: '' })
    })
    const end = () => {
      for (const it of this.#actions) it.kill?.()
      leave()
    }
    const overdue = () => {
      if (!this.#ground.isWaiting)
        trial.unjudged = `It ran longer than ${Math.round(patienceMs / 100) / 10} s, without waiting for a call.`
      end()
    }
    const timer = setTimeout(overdue, Math.min(Math.round(patienceMs), 2 ** 31 - 1))
    signal.addEventListener('abort', end)
    // An interrupt may come while the app starts.
    if (signal.aborted) end()
    try {
      const ends = this.#actions.map((it) => (it.kill === undefined ? Promise.race([it.ended, left]) : it.ended))
      return await Promise.all(ends)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
  }

  /** Waits until each delivery was accepted or given up, moving the clock to its next attempt. */
  async #settleDeliveries(trial: Trial): Promise<void> {
    if (this.#relay === undefined) return
    await this.#startApp(trial)
    const deadline = performance.now() + SETTLE_MS_MAX
    while (performance.now() < deadline && !this.#options.signal.aborted) {
      const ms = await this.#ground.nextAttemptMs()
      if (ms === undefined) return
      if (ms > 0) this.#ground.advanceClock(ms)
      await pause(SETTLE_POLL_MS, this.#options.signal)
    }
    trial.unjudged = `Its deliveries did not settle within ${SETTLE_MS_MAX / 1000} s.`
  }

  /** Reads the program's own state, and once more after a copy of a delivery. */
  async #readState(trial: Trial, variant: Variant | undefined) {
    await this.#startApp(trial)
    const state = await this.#command('state')
    const copied = variant?.strikes.find(({ kind }) => kind === 'stale' || kind === 'kill')
    if (copied === undefined) return { state, copySent: false, copyChanged: false }
    const copySent = (await this.#relay?.sendCopy(copied.nth, copied.kind === 'stale')) ?? false
    return { state, copySent, copyChanged: (await this.#command('state')) !== state }
  }

  /** Starts the app unless it runs. After a disturbance it may fail to start: its action then fails too. */
  async #startApp(trial: Trial): Promise<void> {
    const result = (await this.#app?.start(() => this.#envOf('app'), this.#options.signal)) ?? true
    if (result === true) return
    if (!trial.isDisturbed) throw this.#app?.refusal(result, this.secrets)
    if (trial.runs.length > 0) trial.unjudged = 'The app was not ready again.'
  }

  async #stopApp(trial: Trial): Promise<void> {
    const exit = await this.#app?.stop()
    if (exit !== undefined) trial.exits.push({ exit, maker: 'app' })
  }

  /** Runs --reset or --state; returns its output, JSON by value. */
  async #command(name: 'reset' | 'state'): Promise<string | null> {
    const exit = await this.#options[name]?.(this.#envOf('app')).ended
    if (exit === undefined) return null
    if (exit.code !== 0) {
      const message = `--${name} ended with ${endingOf(exit)}.${shownOutput(exit, this.secrets)}`
      throw new CannotProve(message, `Check the command of --${name}: it must succeed each time.`)
    }
    const json = parseJson(exit.stdout)
    return json === undefined ? exit.stdout : canonicalJson(json)
  }

  #envOf(maker: Maker): Record<string, string> {
    const env = this.#ground.envOf(maker)
    const valueOf = (_braces: string, name: string) => env[`VOUCHERCTL_${name.toUpperCase()}`] ?? ''
    const named = Object.entries(this.#options.variables).map(([name, text]) => [
      name,
      text.replaceAll(/\{([a-z_]+)\}/g, valueOf),
    ])
    return { ...env, ...Object.fromEntries(named) }
  }
}

function endAll(planted: readonly Planted[]): void {
  for (const it of planted) it.stop()
}
