import { randomBytes } from 'node:crypto'
import { isTransportError } from '../../client/transport.js'
import type { Need } from '../../conform/group.js'
import type { WebhookReceiver } from '../../conform/receiver.js'
import type { ProbeResult } from '../../conform/result.js'
import type { CredentialKind } from '../../contract/endpoint.js'
import { isLoopbackHost } from '../../values/loopback.js'
import type { Context } from '../command/context.js'
import { openInMode, openPlain, proxyOf } from '../command/transport.js'
import { findCredential } from '../config/credentials.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { showLiveLine } from '../output/live-line.js'
import { type ConformReport, reportOf } from './report.js'
import type { ResultsFile } from './results-file.js'

/** Finds the probes of groups, rules and probes. @param names may hold several names each, separated by commas */
export async function chooseProbes({ globals }: Context, names: readonly string[]) {
  if (globals['token-file'] !== undefined) {
    return usage(
      '--token-file holds one credential: give the credentials of conform in the profile or the environment.',
    )
  }
  const only = names.flatMap((it) => it.split(','))
  const { selectProbes, selectable } = await import('../../conform/start.js')
  const { probes, unknown } = selectProbes(only)
  if (unknown.length === 0) return { ok: true as const, only, probes }
  const { closest } = await import('../../values/closest.js')
  const near = closest(unknown[0] ?? '', selectable())
  return usage(
    `--only names no group, rule or probe: ${unknown.join(', ')}.`,
    `${near === undefined ? '' : `Did you mean ${near}? `}Groups and rules: ${selectable().join(', ')}.`,
  )
}

export type ChosenProbes = Extract<Awaited<ReturnType<typeof chooseProbes>>, { readonly ok: true }>

export const STORE_EACH = 'Store each: `voucherctl login --with-token -`, or set its variable.'

const QUOTA = 100
const RATE = 10
const RATE_HERE = 200
const MAX_WAIT_MS = 10_000

interface ConformOptions {
  readonly 'read-only': boolean
  readonly template?: string | undefined
  readonly bot?: string | undefined
  readonly chat?: string | undefined
  readonly 'max-wait'?: number | undefined
  readonly rate?: number | undefined
  readonly quota?: number | undefined
  /** Results of an earlier run, which this one continues. */
  readonly file?: ResultsFile | undefined
  readonly receiver?: WebhookReceiver | undefined
}

export async function runConform(
  context: Context,
  baseUrl: string,
  { only, probes }: ChosenProbes,
  { file, receiver, ...flags }: ConformOptions,
): Promise<ConformReport | Failure> {
  const { conform } = await import('../../conform/start.js')
  const { CredentialRefused, NotReachable } = await import('../../conform/result.js')
  const { Paths } = await import('../../conform/paths.js')
  const { host } = context
  const proxy = await proxyOf(host, baseUrl)
  if (!proxy.ok) return proxy
  const { idOf } = await import('../command/names.js')
  const template = await idOf(context, 'template_id', flags.template)
  if (!template.ok) return template
  const bot = await idOf(context, 'botId', flags.bot)
  if (!bot.ok) return bot
  const access = await platformAccess(context, baseUrl, { ...flags, template: template.value, bot: bot.value })
  const results: ProbeResult[] = [...(file?.results ?? [])]
  const paths = new Paths()
  const refused = new Set<Need>()
  const endProgress = showProgress(context, results, probes.length)
  try {
    const left = await conform({
      baseUrl,
      ...access,
      receiver,
      quota: flags.quota ?? QUOTA,
      only,
      done: new Set(results.map((it) => it.probe)),
      readOnly: flags['read-only'],
      run: randomBytes(4).toString('hex'),
      paths,
      refused,
      onResult: (result) => {
        results.push(result)
        file?.append(result)
      },
    })
    file?.append({ left })
    const lacking = (['token', 'jwt', 'bot'] as const).filter((kind) => access.credentials[kind] === undefined)
    const settled = results.map((it) => paths.settle(it))
    return reportOf(baseUrl, settled, [...(file?.left ?? []), ...left], host.signal.aborted, lacking, [...refused])
  } catch (error) {
    if (error instanceof CredentialRefused) return fail('PROBES_SKIPPED', error.message, STORE_EACH)
    if (!(error instanceof NotReachable)) throw error
    return notReachable(context, baseUrl, error)
  } finally {
    endProgress()
  }
}

/** Shows on stderr how many probes have a result. Returns a function that ends the display. */
const showProgress = (context: Context, results: readonly ProbeResult[], total: number) =>
  showLiveLine(context, (columns) => {
    const differ = results.filter((it) => it.result === 'differs').length
    const last = results.at(-1)?.probe ?? ''
    return `${results.length} of ${total} probes, ${differ} differ  ${last}`.slice(0, columns)
  })

/** How a run reaches the platform: transports, credentials, resources of the user, and rate limit. */
async function platformAccess(context: Context, baseUrl: string, flags: ConformOptions) {
  const plain = await openPlain(context, baseUrl)
  const isPlain = context.settings.secure.mode.value === 'off'
  const isHere = isLoopbackHost(new URL(baseUrl).hostname)
  return {
    plain,
    encrypted: isPlain ? undefined : await openInMode(context, baseUrl, undefined, plain),
    credentials: await credentialsFor(context, baseUrl),
    template: flags.template,
    botId: flags.bot,
    chat: flags.chat,
    maxWaitMs: flags['max-wait'] ?? MAX_WAIT_MS,
    rate: flags.rate ?? (isHere ? RATE_HERE : RATE),
    timeoutMs: context.settings.timeoutMs.value,
    signal: context.host.signal,
  }
}

/** The credentials that profile and environment hold for the platform, by kind. */
async function credentialsFor({ host, globals, settings }: Context, baseUrl: string) {
  const found: Partial<Record<CredentialKind, string>> = {}
  for (const kind of ['token', 'bot', 'jwt'] as const) {
    const credential = await findCredential(host, globals, settings, kind, baseUrl)
    if (credential.ok) found[kind] = credential.value
  }
  return found
}

function notReachable({ host }: Context, baseUrl: string, { message, cause }: Error): Failure {
  if (host.signal.aborted) return fail('ABORTED', 'Interrupted before anything was tested.')
  const code = isTransportError(cause) && cause.kind === 'untrusted' ? 'CERTIFICATE_UNTRUSTED' : 'NETWORK_ERROR'
  return fail(code, `${baseUrl} does not respond. ${message}`, 'See what is wrong: `voucherctl doctor`.')
}
