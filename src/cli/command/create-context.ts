import { sendPrepared } from '../../client/call.js'
import { prepareCall } from '../../client/prepare.js'
import type { Transport } from '../../client/transport.js'
import type { CredentialKind, OutputOf } from '../../contract/endpoint.js'
import { kindOf } from '../../contract/values/secrets.js'
import type { CallFacts } from '../call-failure.js'
import { profileNotFound } from '../config/config.js'
import { findCredential } from '../config/credentials.js'
import { noServerChosen } from '../config/local-server.js'
import { projectNotAllowed } from '../config/project-permission.js'
import { refuseImpostor } from '../config/server-identity.js'
import type { Settings } from '../config/settings.js'
import { fail } from '../failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { remember } from '../host/scrub.js'
import { credentialNames, describeCredential } from '../host/secrets.js'
import type { Output } from '../output/output.js'
import { withProgress } from '../output/progress.js'
import type { AnsweredLine } from './answered-line.js'
import type { Context } from './context.js'
import { openInMode, withRetries } from './transport.js'

export function createContext(
  host: Host,
  globals: Globals,
  settings: Settings,
  output: Output,
  line: AnsweredLine,
): Context {
  const planned: unknown[] = []
  // Cache typed credentials by kind and server, so that a command with several calls asks only once.
  const typed = new Map<string, string>()
  // Cache transports by base URL, so that a command with several calls opens one encrypted session.
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
      const { target } = options
      const base = target === undefined ? context.baseUrl() : { ok: true as const, value: target.baseUrl }
      if (!base.ok) return base
      const credential =
        target === undefined
          ? await context.credential(endpoint.caller, base.value)
          : { ok: true as const, value: target.credential, source: target.source }
      if (!credential.ok) return credential
      const prepared = await prepareCall(
        endpoint,
        input as Record<string, unknown>,
        { token: credential.value, newIdempotencyKey: () => host.newId() },
        {
          signal: options.signal ?? host.signal,
          timeoutMs: options.timeoutMs ?? settings.timeoutMs.value,
          idempotencyKey: endpoint.idempotent ? globals['idempotency-key'] : undefined,
        },
      )
      if (!prepared.ok) {
        const name = String(prepared.details.parameter)
        const message = prepared.message.replace(name, output.options.nameOf?.(name) ?? name)
        return fail('INVALID_INPUT', `${message}.`, null, prepared.details)
      }
      if (context.dryRun) {
        const { planRequest } = await import('./dry-run.js')
        const { mode, origin } = settings.secure
        planned.push(planRequest(base.value, prepared.request, mode.value, origin.value, endpoint.id))
        return { ok: false, plan: planned }
      }
      const impostor = await refuseImpostor(settings, base.value)
      if (impostor !== undefined) return impostor
      showProductionBanner(context, base.value)
      transports[base.value] ??= openInMode(context, base.value).then((it) => withRetries(context, it))
      const work = sendPrepared<OutputOf<typeof endpoint>>((await transports[base.value]) as Transport, prepared)
      const showsProgress = !globals.quiet && !globals.debug
      const text = `${options.progress ?? endpoint.summary} …`
      const result = await (showsProgress ? withProgress(host, text, work) : work)
      if (result.ok) return { ok: true, data: result.data, ...(result.replayed ? { replayed: true } : {}) }
      if (result.status === 426) {
        const { forbidPlaintext } = await import('./downgrade-protection.js')
        await forbidPlaintext(context, base.value, result.code)
      }
      const { fromCall } = await import('../call-failure.js')
      const { check } = options
      const used = usedCredential(globals, endpoint.caller, credential, base.value)
      return fromCall(result, { check, input: input as Record<string, unknown>, credential: used })
    },
    plan(action) {
      planned.push({ action })
      return { ok: false, plan: planned }
    },
    baseUrl(mayBeNew = false) {
      if (!mayBeNew && settings.profileMissing) return profileNotFound(settings.profileName.value, settings.config)
      const { baseUrl, notAllowed, passedOver } = settings
      if (notAllowed !== undefined) return projectNotAllowed(notAllowed)
      if (baseUrl.value !== undefined) return { ok: true, value: baseUrl.value }
      const failure = noServerChosen(host, settings.config)
      return {
        ...failure,
        hint: [failure.hint, ...passedOver.map(({ path, why }) => `${path} was passed over: ${why}`)].join(' '),
      }
    },
    async credential(kind, baseUrl) {
      if (settings.profileMissing) return profileNotFound(settings.profileName.value, settings.config)
      const found = await findCredential(host, globals, settings, kind, baseUrl)
      if (found.ok) lastCredential = { kind, source: found.source }
      if (found.ok || found.code !== 'CREDENTIAL_REQUIRED' || context.dryRun) return found
      if (kind === 'operator') {
        const { localServerDown } = await import('./local-advice.js')
        const down = await localServerDown(context, baseUrl)
        if (down !== undefined) return down
      }
      const name = `The ${credentialNames[kind]} for ${new URL(baseUrl).origin}`
      const known = typed.get(name)
      if (known !== undefined) return { ok: true, value: known, source: 'the prompt' }
      const asked = await context.ask(
        () => found,
        (questions) => questions.secret(`${name} (hidden)`),
      )
      if (!asked.ok) return asked
      typed.set(name, asked.value)
      return { ok: true, value: asked.value, source: 'the prompt' }
    },
    async ask(missing, question) {
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
    },
    async confirm({ action, loses, word }) {
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
    },
  }
  return context
}

/** Says where a credential came from as the user knows it: the variable, the path of the file, the profile. */
const sourceInWords = (source: string | undefined, globals: Globals) =>
  source === 'flag --token-file' ? `--token-file ${globals['token-file']}` : source?.replace(/^environment /, '')

/** The credential of a call for its failure: kind, source and server, and of the value only the first characters. */
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
