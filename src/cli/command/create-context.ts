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
import type { Host, Questions } from '../host/host.js'
import { credentialNames, describeCredential, remember } from '../host/secrets.js'
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
  const planned: unknown[] = []
  // Cache typed credentials by kind and server, so that a command with several calls asks only once.
  const typed = new Map<string, string>()
  // Cache transports by base URL, so that a command with several calls opens one encrypted session.
  // Cache ids by name, so that a command with several calls looks for each only once.
  const ids = new Map<string, string>()
  const transports: Record<string, Promise<Transport>> = {}
  let lastCredential: Context['lastCredential']
  const context: Context = {
    get lastCredential() {
      return lastCredential
    },
    host,
    globals,
    settings,
    output,
    dryRun: globals['dry-run'],
    line,
    async call(endpoint, input, options = {}) {
      const target = options.target ?? (await chosenTarget(context, endpoint.caller))
      if ('code' in target) return target
      const { baseUrl, credential, source } = target
      const identified = await identify(context, input as Members, options, ids)
      if (!identified.ok) return identified
      const members = identified.value
      const prepared = await prepare(context, endpoint, members, credential, options)
      if (!prepared.ok) return prepared
      if (context.dryRun) {
        const { planRequest } = await import('./dry-run.js')
        const { mode, origin } = settings.secure
        planned.push(planRequest(baseUrl, prepared.request, mode.value, origin.value, endpoint.id))
        return { ok: false, plan: planned }
      }
      const impostor = await refuseImpostor(settings, baseUrl)
      if (impostor !== undefined) return impostor
      showProductionBanner(context, baseUrl)
      transports[baseUrl] ??= openInMode(context, baseUrl).then((transport) => withRetries(context, transport))
      const work = sendPrepared<OutputOf<typeof endpoint>>((await transports[baseUrl]) as Transport, prepared)
      const showsProgress = !globals.quiet && !globals.debug
      const text = `${options.progress ?? endpoint.summary} …`
      const result = await (showsProgress ? withProgress(host, text, work) : work)
      if (result.ok) return { ok: true, data: result.data, ...(result.replayed ? { replayed: true } : {}) }
      const used = usedCredential(globals, endpoint.caller, { value: credential, source }, baseUrl)
      return failureOf(context, result, baseUrl, { check: options.check, input: members, credential: used })
    },
    plan(action) {
      planned.push({ action })
      return { ok: false, plan: planned }
    },
    baseUrl(mayBeNew = false) {
      if (!mayBeNew && settings.profileMissing) return profileNotFound(settings.profileName.value, settings.config)
      const { baseUrl, oldProjectFile } = settings
      if (baseUrl.value !== undefined) return { ok: true, value: baseUrl.value }
      const failure = noServerChosen(host, settings.config)
      return oldProjectFile === undefined
        ? failure
        : { ...failure, hint: `${failure.hint} ${notReadText(oldProjectFile)}` }
    },
    async credential(kind, baseUrl) {
      if (settings.profileMissing) return profileNotFound(settings.profileName.value, settings.config)
      const found = await findCredential(host, globals, settings, kind, baseUrl)
      if (found.ok) lastCredential = { kind, source: found.source }
      if (found.ok || found.code !== 'CREDENTIAL_REQUIRED' || context.dryRun) return found
      return askCredential(context, kind, baseUrl, typed, found)
    },
    ask: (missing, question) => ask(context, missing, question),
    confirm: (confirmation) => confirm(context, confirmation),
  }
  return context
}

/** Replaces names by ids. A call for a target of its own has ids only. */
async function identify(
  { call, dryRun }: Context,
  input: Members,
  { target }: ContextCallOptions,
  ids: Map<string, string>,
) {
  // A dry run sends nothing, so it shows the name.
  const isReady = target !== undefined || dryRun || namesIn(input).length === 0
  if (isReady) return { ok: true as const, value: input }
  const { withIds } = await import('./names.js')
  return withIds(input, call, ids)
}

async function chosenTarget(
  context: Context,
  caller: CredentialKind,
): Promise<NonNullable<ContextCallOptions['target']> | Failure> {
  const base = context.baseUrl()
  if (!base.ok) return base
  const credential = await context.credential(caller, base.value)
  if (!credential.ok) return credential
  return { baseUrl: base.value, credential: credential.value, source: credential.source }
}

async function prepare(
  { host, globals, settings, output }: Context,
  endpoint: Endpoint,
  input: Record<string, unknown>,
  token: string,
  { signal = host.signal, timeoutMs = settings.timeoutMs.value }: ContextCallOptions,
): Promise<PreparedCall | Failure> {
  const idempotencyKey = endpoint.idempotent ? globals['idempotency-key'] : undefined
  const callSettings = { token, newIdempotencyKey: () => host.newId() }
  const prepared = await prepareCall(endpoint, input, callSettings, { signal, timeoutMs, idempotencyKey })
  if (prepared.ok) return prepared
  const name = String(prepared.details.parameter)
  const message = prepared.message.replace(name, output.options.nameOf?.(name) ?? name)
  return fail('INVALID_INPUT', `${message}.`, null, prepared.details)
}

async function failureOf(context: Context, result: CallFailure, baseUrl: string, facts: CallFacts): Promise<Failure> {
  if (result.status === 426) {
    const { forbidPlaintext } = await import('./downgrade-protection.js')
    await forbidPlaintext(context, baseUrl, result.code)
  }
  const { fromCall } = await import('../failures/call-failure.js')
  return fromCall(result, facts)
}

/** @param typed credentials that the user has typed for earlier calls of the command */
async function askCredential(
  context: Context,
  kind: CredentialKind,
  baseUrl: string,
  typed: Map<string, string>,
  missing: Failure,
): Promise<(Ok<string> & { source: string }) | Failure> {
  if (kind === 'operator') {
    const { localServerDown } = await import('./local-advice.js')
    const down = await localServerDown(context, baseUrl)
    if (down !== undefined) return down
  }
  const name = `The ${credentialNames[kind]} for ${new URL(baseUrl).origin}`
  const known = typed.get(name)
  if (known !== undefined) return { ok: true, value: known, source: 'the prompt' }
  const asked = await context.ask(
    () => missing,
    (questions) => questions.secret(`${name} (hidden)`),
  )
  if (!asked.ok) return asked
  typed.set(name, asked.value)
  return { ok: true, value: asked.value, source: 'the prompt' }
}

async function ask<T>(
  { host, globals }: Context,
  missing: () => Failure,
  question: (questions: Questions) => Promise<T | undefined>,
): Promise<Ok<T> | Failure> {
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

async function confirm(
  context: Context,
  { action, loses, word }: Parameters<Context['confirm']>[0],
): Promise<Failure | undefined> {
  const { settings, globals, output, line } = context
  const isTyped = settings.production.value && word !== undefined
  if ((loses === undefined && !isTyped) || globals.yes || context.dryRun) return undefined
  if (isTyped) showProductionBanner(context, settings.baseUrl.value ?? 'no server is chosen')
  const where = isTyped ? ' on a production server' : ''
  const missing = () =>
    fail(
      'CONFIRMATION_REQUIRED',
      `${action} needs a confirmation${where}.${loses === undefined ? '' : ` ${loses}`}`,
      `To go on: \`${line} --yes\``,
    )
  const asked = await context.ask(missing, async (questions) => {
    if (loses !== undefined) output.tell(loses)
    if (!isTyped) return questions.confirm(`${action}: go on?`)
    const typed = await questions.text(`${action}: type ${word} to confirm`)
    return typed === undefined ? undefined : typed.trim() === word
  })
  if (!asked.ok) return asked
  return asked.value ? undefined : fail('CONFIRMATION_REQUIRED', `${action} was not confirmed. Nothing was done.`)
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
