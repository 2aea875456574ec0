import { readFailure } from '../../../client/failure.js'
import { isTransportError, type TransportError, type TransportResponse } from '../../../client/transport.js'
import { bootstrapRequest, readBootstrap } from '../../../secure/client/negotiation.js'
import { parseObject } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { startHint } from '../../command/local-advice.js'
import { openPlain } from '../../command/transport.js'
import type { SettingsDiagnosis } from '../../config/diagnosis.js'
import { noServerChosen, refuseImpostor } from '../../config/local-server.js'
import type { Host } from '../../host/host.js'
import { numberText } from '../../output/text.js'
import { bad, type Finding, ok, skip, warn } from './check.js'

/** Milliseconds for one request; the command makes two in turn, so the user waits at most twice this time. */
export const ASK_MS = 2_000

type RequestResult =
  | { readonly ok: true; readonly response: TransportResponse }
  | (Pick<TransportError, 'kind' | 'message'> & { readonly ok: false })

/** Sends an unencrypted GET without a credential. Returns any response, or the reason why there is none. */
async function ask(context: Context, baseUrl: string, path: string): Promise<RequestResult> {
  const transport = await openPlain(context, baseUrl)
  const limits = { timeoutMs: ASK_MS, signal: context.host.signal }
  try {
    const response = await transport({ method: 'GET', path, headers: { accept: 'application/json' }, ...limits })
    return { ok: true, response }
  } catch (error) {
    if (!isTransportError(error)) throw error
    return { ok: false, kind: error.kind, message: error.message }
  }
}

/** Result of the first check of a server. */
interface ServerReport {
  readonly base: Finding
  readonly server: Finding
  readonly clock: Finding
  /** Base URL for further checks; undefined if they must not call this server. */
  readonly baseUrl: string | undefined
}

function checkBaseUrl(host: Host, { values, settings }: SettingsDiagnosis): Finding {
  if (values?.code === 'USAGE') return bad(values.message, values.hint ?? 'Correct it.')
  if (values !== undefined) return skip('Not looked at: a setting is wrong.')
  const { value, source } = settings.baseUrl
  if (value === undefined) {
    const { message, hint } = noServerChosen({ host, settings })
    return skip(message, hint ?? undefined)
  }
  return ok(`${value}, from ${source}.`)
}

export async function reachServer(context: Context, diagnosis: SettingsDiagnosis): Promise<ServerReport> {
  const base = checkBaseUrl(context.host, diagnosis)
  const { settings } = diagnosis
  const unasked = (message: string): ServerReport => ({
    base,
    server: skip(message),
    clock: skip(message),
    baseUrl: undefined,
  })
  if (base.status !== 'ok' || settings.baseUrl.value === undefined) return unasked('No server to ask.')
  if (context.dryRun) return unasked('Not asked with --dry-run.')
  const { value: baseUrl } = settings.baseUrl
  const startedAt = context.host.now()
  const isEncrypted = settings.secure.mode.value === 'required'
  const [impostor, health, refused] = await Promise.all([
    refuseImpostor(settings, baseUrl),
    ask(context, baseUrl, isEncrypted ? bootstrapRequest.path : '/healthz'),
    isEncrypted ? undefined : ask(context, baseUrl, REFUSED_READ),
  ])
  const endedAt = context.host.now()
  if (!health.ok) {
    const general = 'Start it, or correct the base URL: `voucherctl profiles show --explain` says where it comes from.'
    const fix = health.kind === 'untrusted' ? 'The check TLS below says how.' : ((await startHint(context)) ?? general)
    return { ...unasked('The server does not respond.'), server: bad(`${health.message}.`, fix) }
  }
  if (impostor !== undefined)
    return { ...unasked('Another program responds.'), server: bad(impostor.message, impostor.hint ?? '') }
  const foreign = refused?.ok ? foreignResponse(health.response, refused.response) : undefined
  const server = foreign ?? serverOf(health.response, endedAt - startedAt)
  return {
    base,
    server,
    clock: clockOf(health.response.headers.date, (startedAt + endedAt) / 2),
    baseUrl: server.status === 'fail' ? undefined : baseUrl,
  }
}

/** An endpoint that every voucher service refuses without a credential. */
const REFUSED_READ = '/api/v1/open-platform/vouchers/templates'

const hasEnvelope = ({ body }: TransportResponse) => typeof parseObject(body)?.success === 'boolean'

/**
 * Returns a failed check if neither response comes from a voucher service. /healthz alone does not tell: another
 * implementation may lack it, but its refusals have the envelope.
 */
function foreignResponse(health: TransportResponse, refused: TransportResponse): Finding | undefined {
  const isRedirect = health.status >= 300 && health.status < 400
  if (isRedirect || health.status >= 500 || hasEnvelope(health) || hasEnvelope(refused)) return undefined
  const { message } = readFailure(refused)
  return bad(
    `${message}.`,
    'Correct the base URL. If it is right, a login page or a proxy responds in place of the server.',
  )
}

function serverOf({ status, headers, body }: TransportResponse, ms: number): Finding {
  if (status >= 300 && status < 400)
    return bad(
      `It responds with a redirect to ${headers.location ?? 'elsewhere'}; redirects are not followed.`,
      'Name the address that it redirects to.',
    )
  if (status >= 500)
    return bad(
      `It responds with ${status}.`,
      'Look at its log; `voucherctl server logs` shows the log of a local server.',
    )
  const data = parseObject(body)?.data as { instanceId?: unknown } | null | undefined
  const kind =
    typeof data?.instanceId === 'string'
      ? 'the reference server'
      : (headers.server ?? 'a server that does not name itself')
  return ok(`Responds within ${Math.max(1, Math.round(ms))} ms: ${kind}.`)
}

const SKEW = { warnSeconds: 5, failSeconds: 300 }

/** Checks the clock. @param date Date header, in whole seconds @param now local time, ms, halfway through the call */
export function clockOf(date: string | undefined, now: number): Finding {
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return skip('The server does not say what time it is.')
  const seconds = Math.round(Math.abs(now - theirs - 500) / 1000)
  const side = now > theirs ? 'ahead of' : 'behind'
  if (seconds <= SKEW.warnSeconds) return ok('Within seconds of the clock of the server.')
  const message = `This machine is ${numberText(seconds)} s ${side} the server.`
  const fix = 'Set the clock, such as with `timedatectl set-ntp true`: signatures of webhooks hold for 300 s.'
  return seconds > SKEW.failSeconds ? bad(message, fix) : warn(message, fix)
}

/** Checks that the server offers the encrypted transport and that its key has one of the profile's pins. */
export async function checkSecure(context: Context, baseUrl: string | undefined): Promise<Finding> {
  if (baseUrl === undefined) return skip('No server to ask.')
  const { mode, pins } = context.settings.secure
  const isWanted = mode.value !== 'off'
  const asked = await ask(context, baseUrl, bootstrapRequest.path)
  if (!asked.ok) return bad(`${asked.message}.`, 'Check what stands between.')
  const { response } = asked
  if (response.status === 404 && !isWanted) return skip('The server does not offer it.')
  const bootstrap = readBootstrap(response, pins.value)
  if (!bootstrap.ok) {
    const isMismatch = bootstrap.code === 'SECURE_PIN_MISMATCH'
    const fix = isMismatch
      ? 'Ask the operator for the pin of the current key; `voucherctl secure pin` shows the one that is served.'
      : '`voucherctl secure check` walks through the protocol step by step.'
    return bad(`${bootstrap.message} (${bootstrap.code})`, fix)
  }
  if (!bootstrap.enabled) {
    const message = 'The server has it switched off'
    return mode.value === 'required'
      ? bad(`${message}, and ${mode.source} requires it.`, 'Use --secure off, if plain text is acceptable.')
      : ok(`${message}.`)
  }
  const pinned = pins.value.length === 0 ? 'not pinned' : 'pinned'
  return ok(`Offered, key ${bootstrap.kid} ${pinned}; mode ${mode.value}.`)
}
