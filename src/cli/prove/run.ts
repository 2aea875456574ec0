import type { ProveOptions } from '../../prove/prove.js'
import { isLoopbackHost } from '../../values/loopback.js'
import { shellWord } from '../../values/shell-word.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import type { Host } from '../host/host.js'
import { withoutSecrets } from '../host/secrets.js'
import { readSeedFile } from '../server/seed-file.js'
import type { ProvedByCommand } from './lines.js'

/** The flags that say what to run. */
export interface Programs {
  readonly seed?: string | undefined
  readonly app?: string | undefined
  readonly ready?: string | undefined
  readonly webhook?: string | undefined
  readonly state?: string | undefined
  readonly reset?: string | undefined
  readonly shell?: boolean | undefined
  readonly env?: readonly string[] | undefined
  readonly again?: number | undefined
}

type Limits = Pick<
  ProveOptions,
  'patienceMs' | 'budgetMs' | 'only' | 'list' | 'jobs' | 'records' | 'signal' | 'onProgress'
>

interface Proved {
  readonly ok: true
  readonly report: ProvedByCommand
  readonly interrupted: boolean
  readonly scenario: string | null
}

/** True for BOT=URL with a loopback address. */
export function isWebhook(value: string): boolean {
  const url = value.slice(value.indexOf('=') + 1)
  return /^[^=]+=http:/.test(value) && URL.canParse(url) && isLoopbackHost(new URL(url).hostname)
}

/** Runs a program against disturbances; the result says how to repeat each finding. */
export async function runProve(
  host: Host,
  command: readonly string[],
  programs: Programs,
  limits: Limits,
  readText?: Parameters<typeof readSeedFile>[2],
): Promise<Proved | Failure> {
  const { ready, webhook, again } = programs
  if (programs.app !== undefined && ready === undefined) {
    return usage('--app needs --ready URL, an address that responds with 2xx when the app is ready.')
  }
  const seed = programs.seed === undefined ? undefined : await readSeedFile(host, programs.seed, readText)
  if (seed?.ok === false) return seed
  const [{ prove }, { commandOf }] = await Promise.all([
    import('../../prove/prove.js'),
    import('../../prove/process.js'),
  ])
  const lines = await linesIn(programs)
  if ('code' in lines) return lines
  const env = withoutSecrets(host.env)
  const start = (words: readonly string[] | undefined) => words && commandOf(words, host.cwd, env)
  const app = start(lines.app)
  const [bot = '', url = ''] = webhook?.split(/=(.*)/s) ?? []
  const proved = await prove({
    action: commandOf(command, host.cwd, env),
    app: app && ready !== undefined ? { start: app, ready: new URL(ready) } : undefined,
    state: start(lines.state),
    reset: start(lines.reset),
    seed: seed?.seed,
    webhook: webhook === undefined ? undefined : { bot, url: new URL(url) },
    variables: Object.fromEntries((programs.env ?? []).map((it) => it.split(/=(.*)/s) as [string, string])),
    again,
    ...limits,
  })
  if (!proved.ok) {
    if (limits.signal.aborted) return fail('ABORTED', 'Interrupted before anything was judged.')
    return nothingProved(proved.message, proved.hint)
  }
  const { report, ...others } = proved
  const repeat = (only: string) =>
    `voucherctl prove ${flagsOf(programs)}--only ${shellWord(only)} -- ${command.map(shellWord).join(' ')}`
  const findings = report.findings.map(({ only, ...it }) => ({ ...it, repeat: repeat(only) }))
  return { ...others, report: { ...report, findings } }
}

/** The lines of a message after the first one are output of a program. */
function nothingProved(text: string, hint: string): Failure {
  const [message = '', ...output] = text.split('\n')
  if (output.length === 0) return fail('NOTHING_PROVED', message, hint)
  return { ...fail('NOTHING_PROVED', message, hint, { output }), about: output }
}

/** Splits the command lines of --app, --state and --reset into words. */
async function linesIn(programs: Programs): Promise<Partial<Record<'app' | 'state' | 'reset', string[]>> | Failure> {
  const { wordsOf } = await import('../../prove/words.js')
  const lines: Partial<Record<'app' | 'state' | 'reset', string[]>> = {}
  for (const name of ['app', 'state', 'reset'] as const) {
    const line = programs[name]
    if (line === undefined) continue
    const words = programs.shell ? ['sh', '-c', line] : wordsOf(line)
    if (words === undefined || words.length === 0) {
      const hint = 'It is split into words with the quotes of a shell; --shell passes it to sh -c.'
      return usage(`--${name} holds no command, or a quote in it is open.`, hint)
    }
    lines[name] = words
  }
  return lines
}

/** The flags with which a finding is repeated, each with a space behind it. */
function flagsOf(programs: Programs): string {
  const names = ['seed', 'app', 'ready', 'webhook', 'state', 'reset', 'env', 'again'] as const
  const words = names.flatMap((name) => [programs[name] ?? []].flat().map((it) => `--${name} ${shellWord(`${it}`)} `))
  return `${words.join('')}${programs.shell ? '--shell ' : ''}`
}
