import { prepareCall, sendPrepared } from '../../client/call.js'
import type { CallFailure } from '../../client/result.js'
import type { PreparedCall } from '../../client/settings.js'
import type { Transport } from '../../client/transport.js'
import type { CredentialKind, Endpoint, OutputOf } from '../../contract/endpoint.js'
import { kindOf } from '../../contract/secrets.js'
import type { Members } from '../../values/json.js'
import { profileNotFound } from '../config/config.js'
import { findCredential } from '../config/credentials.js'
import { noServerChosen, refuseImpostor } from '../config/local-server.js'
import { notReadText } from '../config/old-project-file.js'
import type { Settings } from '../config/settings.js'
import type { CallFacts } from '../failures/call-failure.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { credentialNames, describeCredential, remember } from '../host/secrets.js'
import type { Result } from '../output/outcome.js'
import type { Output } from '../output/output.js'
import { withProgress } from '../output/progress.js'
import type { Context, ContextCallOptions, Ok } from './context.js'
import { namesIn } from './id-members.js'
import type { LineWithAnswers } from './line-with-answers.js'
import { openInMode, withRetries } from './transport.js'

export function createContext(
  host: Host,
  globals: Globals,
  settings: Settings,
  output: Output,
  line: LineWithAnswers,
): Context {
  return new CommandContext(host, globals, settings, output, line)
}

type Target = NonNullable<ContextCallOptions['target']>

/** Functions of the context are fields, because commands take single ones from it. */
class CommandContext implements Context {
  readonly dryRun: boolean
  lastCredential: Context['lastCredential']
  readonly #planned: unknown[] = []
  /** By name: a command with several calls looks for each id only once. */
  readonly #ids = new Map<string, string>()
  /** By kind and server: a command with several calls asks for each credential only once. */
  readonly #typed = new Map<string, string>()
  /** By base URL: a command with several calls opens one encrypted session. */
  readonly #transports = new Map<string, Promise<Transport>>()

  constructor(
    readonly host: Host,
    readonly globals: Globals,
    readonly settings: Settings,
    readonly output: Output,
    readonly line: LineWithAnswers,
  ) {
    this.dryRun = globals['dry-run']
  }

  readonly call: Context['call'] = async (endpoint, input, options = {}) => {
    const target = options.target ?? (await this.#chosenTarget(endpoint.caller))
    if ('code' in target) return target
    const { baseUrl, credential, source } = target
    const identified = await this.#identify(input as Members, options)
    if (!identified.ok) return identified
    const members = identified.value
    const prepared = await this.#prepare(endpoint, members, credential, options)
    if (!prepared.ok) return prepared
    if (this.dryRun) {
      const { planRequest } = await import('./dry-run.js')
      const { mode, origin } = this.settings.secure
      this.#planned.push(planRequest(baseUrl, prepared.request, mode.value, origin.value, endpoint.body))
      return { ok: false, plan: this.#planned }
    }
    const impostor = options.isProven ? undefined : await refuseImpostor(this.settings, baseUrl)
    if (impostor !== undefined) return impostor
    showProductionBanner(this, baseUrl)
    const { quiet, debug } = this.globals
    const work = sendPrepared<OutputOf<typeof endpoint>>(await this.#transportTo(baseUrl), prepared)
    const text = `${options.progress ?? endpoint.summary} …`
    const result = await (quiet || debug ? work : withProgress(this.host, text, work))
    this.output.noteServerTime(result.headers.date)
    if (result.ok) return { ok: true, data: result.data, ...(result.replayed ? { replayed: true } : {}) }
    const used = usedCredential(this.globals, endpoint.caller, { value: credential, source }, baseUrl)
    return this.#failureOf(result, baseUrl, { check: options.check, input: members, credential: used })
  }

  readonly lookUp: Context['lookUp'] = async (endpoint, input) => {
    const called = await this.call(endpoint, input)
    if (!('plan' in called)) return called
    this.#planned.push({ ...(this.#planned.pop() as object), sent: true })
    // A context without --dry-run, so that a local server proves itself before it gets the credential.
    const { host, globals, settings, output, line } = this
    const sender = new CommandContext(host, { ...globals, 'dry-run': false }, settings, output, line)
    return sender.call(endpoint, input) as Promise<Result<OutputOf<typeof endpoint>> | Failure>
  }

  readonly plan: Context['plan'] = (action) => {
    this.#planned.push({ action })
    return { ok: false, plan: this.#planned }
  }

  readonly baseUrl: Context['baseUrl'] = (mayBeNew = false) => {
    const { baseUrl, config, oldProjectFile, profileMissing, profileName } = this.settings
    if (!mayBeNew && profileMissing) return profileNotFound(profileName.value, config)
    if (baseUrl.value !== undefined) return { ok: true, value: baseUrl.value }
    const failure = noServerChosen(this)
    return oldProjectFile === undefined
      ? failure
      : { ...failure, hint: `${failure.hint} ${notReadText(oldProjectFile)}` }
  }

  readonly credential: Context['credential'] = async (kind, baseUrl) => {
    const { host, globals, settings } = this
    if (settings.profileMissing) return profileNotFound(settings.profileName.value, settings.config)
    const found = await findCredential(host, globals, settings, kind, baseUrl)
    if (found.ok) this.lastCredential = { kind, source: found.source }
    if (found.ok || found.code !== 'CREDENTIAL_REQUIRED' || this.dryRun) return found
    return this.#askCredential(kind, baseUrl, found)
  }

  readonly ask: Context['ask'] = async (missing, question) => {
    const { host, globals } = this
    // Prompts read stdin and write to stderr, so both must be terminals.
    if (globals['no-input'] || host.stdin.isTTY !== true || host.stderr.isTTY !== true) return missing()
    const questions = await host.questions()
    const secret = async (message: string) => {
      const typedSecret = await questions.secret(message)
      if (typedSecret !== undefined) remember(host, typedSecret)
      return typedSecret
    }
    const value = await question({ ...questions, secret })
    return value === undefined ? fail('ABORTED', 'Interrupted.') : { ok: true, value }
  }

  readonly confirm: Context['confirm'] = async ({ action, loses, word }) => {
    const { settings, globals, output, line } = this
    const isTyped = settings.production.value && word !== undefined
    if ((loses === undefined && !isTyped) || globals.yes || this.dryRun) return undefined
    if (isTyped) showProductionBanner(this, settings.baseUrl.value ?? 'no server is chosen')
    const where = isTyped ? ' on a production server' : ''
    const missing = () =>
      fail(
        'CONFIRMATION_REQUIRED',
        `${action} needs a confirmation${where}.${loses === undefined ? '' : ` ${loses}`}`,
        `To go on: \`${line} --yes\``,
      )
    const asked = await this.ask(missing, async (questions) => {
      if (loses !== undefined) output.tell(loses)
      if (!isTyped) return questions.confirm(`${action}: go on?`)
      const typed = await questions.text(`${action}: type ${word} to confirm`)
      return typed === undefined ? undefined : typed.trim() === word
    })
    if (!asked.ok) return asked
    return asked.value ? undefined : fail('CONFIRMATION_REQUIRED', `${action} was not confirmed. Nothing was done.`)
  }

  async #chosenTarget(caller: CredentialKind): Promise<Target | Failure> {
    const base = this.baseUrl()
    if (!base.ok) return base
    const credential = await this.credential(caller, base.value)
    if (!credential.ok) return credential
    return { baseUrl: base.value, credential: credential.value, source: credential.source }
  }

  /** Replaces names by ids. A call with its own target has ids only. */
  async #identify(input: Members, { target }: ContextCallOptions) {
    if (target !== undefined || namesIn(input).length === 0) return { ok: true as const, value: input }
    const { withIds } = await import('./names.js')
    return withIds(input, this.lookUp, this.#ids)
  }

  async #prepare(
    endpoint: Endpoint,
    input: Members,
    token: string,
    { signal = this.host.signal, timeoutMs = this.settings.timeoutMs.value }: ContextCallOptions,
  ): Promise<PreparedCall | Failure> {
    const idempotencyKey = endpoint.idempotent ? this.globals['idempotency-key'] : undefined
    const callSettings = { token, newIdempotencyKey: () => this.host.newId() }
    const prepared = await prepareCall(endpoint, input, callSettings, { signal, timeoutMs, idempotencyKey })
    if (prepared.ok) return prepared
    const name = String(prepared.details.parameter)
    const message = prepared.message.replace(name, this.output.options.nameOf?.(name) ?? name)
    return fail('INVALID_INPUT', `${message}.`, null, prepared.details)
  }

  #transportTo(baseUrl: string): Promise<Transport> {
    const open = this.#transports.get(baseUrl)
    if (open !== undefined) return open
    const opening = openInMode(this, baseUrl).then((transport) => withRetries(this, transport))
    this.#transports.set(baseUrl, opening)
    return opening
  }

  async #failureOf(result: CallFailure, baseUrl: string, facts: CallFacts): Promise<Failure> {
    if (result.status === 426) {
      const { forbidPlaintext } = await import('./downgrade-protection.js')
      await forbidPlaintext(this, baseUrl, result.code)
    }
    const { fromCall } = await import('../failures/call-failure.js')
    return fromCall(result, facts)
  }

  async #askCredential(
    kind: CredentialKind,
    baseUrl: string,
    missing: Failure,
  ): Promise<(Ok<string> & { source: string }) | Failure> {
    const { localServerDown, loginFirst } = await import('./local-advice.js')
    const down = await localServerDown(this, baseUrl)
    if (down !== undefined) return down
    const name = `The ${credentialNames[kind]} for ${new URL(baseUrl).origin}`
    const known = this.#typed.get(name)
    if (known !== undefined) return { ok: true, value: known, source: 'the prompt' }
    const asked = await this.ask(
      () => missing,
      (questions) => questions.secret(`${loginFirst(this, kind, baseUrl).replace(/ $/, '\n')}${name} (hidden)`),
    )
    if (!asked.ok) return asked
    this.#typed.set(name, asked.value)
    return { ok: true, value: asked.value, source: 'the prompt' }
  }
}

/** Names the source of a credential for the user: the variable, the path of the file, or the profile. */
const sourceInWords = (source: string | undefined, globals: Globals) =>
  source === 'flag --token-file' ? `--token-file ${globals['token-file']}` : source?.replace(/^environment /, '')

/** Describes the credential of a call for its failure: kind, source, server and first characters. */
export function usedCredential(
  globals: Globals,
  caller: CredentialKind,
  { value, source: found }: { readonly value: string; readonly source?: string | undefined },
  baseUrl: string,
): CallFacts['credential'] {
  const source = sourceInWords(found, globals)
  const kind = kindOf(value) ?? caller
  return { kind, source, text: describeCredential(kind, value, source, baseUrl) }
}

const warned = new WeakMap<Context, string>()

/** Shows once that the profile is a production profile, only on a terminal: a script chooses its profile on purpose. */
export function showProductionBanner(context: Context, baseUrl: string): void {
  const { host, settings, output } = context
  if (!settings.production.value || host.stderr.isTTY !== true || warned.get(context) === baseUrl) return
  warned.set(context, baseUrl)
  output.notice(`PRODUCTION profile ${settings.profileName.value}: ${baseUrl}`)
}
