import { readFailure } from '../../../client/response.js'
import type { TransportResponse } from '../../../client/transport.js'
import { paths } from '../../../secure/suite.js'
import type { Context } from '../../command/context.js'
import { projectNotAllowed } from '../../config/project-permission.js'
import { refuseImpostor } from '../../config/server-identity.js'
import type { Tolerated } from '../../config/settings.js'
import { parseObject } from '../../host/parse-object.js'
import { ask } from './ask.js'
import type { Check } from './check.js'
import { bad, ok, skip, warn } from './check.js'

/** The chosen server after the first question: whether it answers, and may be asked more. */
interface Reached {
  readonly base: Check
  readonly server: Check
  readonly clock: Check
  /** Present when it answered, and is who it should be. */
  readonly baseUrl: string | undefined
}

function checkBaseUrl({ values, settings }: Tolerated): Check {
  const name = 'base URL'
  if (values?.code === 'USAGE') return bad(name, values.message, values.hint ?? 'Correct it.')
  if (values !== undefined) return skip(name, 'Not looked at: a setting is wrong.')
  const { value, source } = settings.baseUrl
  if (settings.notAllowed !== undefined) {
    const { message, hint } = projectNotAllowed(settings.notAllowed)
    return bad(name, message, hint ?? 'voucherctl project allow')
  }
  if (value === undefined)
    return skip(
      name,
      'No server is chosen, and no local server runs.',
      'Start one with `voucherctl server start --detach`, or name one with --base-url URL.',
    )
  return ok(name, `${value}, from ${source}.`)
}

export async function reachServer(context: Context, tolerated: Tolerated): Promise<Reached> {
  const base = checkBaseUrl(tolerated)
  const { settings } = tolerated
  const unasked = (message: string): Reached => ({
    base,
    server: skip('server', message),
    clock: skip('clock', message),
    baseUrl: undefined,
  })
  if (base.status !== 'ok' || settings.baseUrl.value === undefined) return unasked('No server to ask.')
  if (context.dryRun) return unasked('Not asked with --dry-run.')
  const { value: baseUrl } = settings.baseUrl
  const startedAt = context.host.now()
  const isEncrypted = settings.secure.mode.value === 'required'
  const [impostor, answer, refused] = await Promise.all([
    refuseImpostor(settings, baseUrl),
    ask(context, baseUrl, isEncrypted ? paths.bootstrap : '/healthz'),
    isEncrypted ? undefined : ask(context, baseUrl, REFUSED_READ),
  ])
  const endedAt = context.host.now()
  if (!answer.ok) {
    const fix = 'Start it, or correct the base URL: `voucherctl profiles show --explain` says where it comes from.'
    return { ...unasked('The server does not answer.'), server: bad('server', `${answer.message}.`, fix) }
  }
  if (impostor !== undefined)
    return { ...unasked('Another program answers.'), server: bad('server', impostor.message, impostor.hint ?? '') }
  const foreign = refused?.ok ? foreignResponse(answer.response, refused.response) : undefined
  const server = foreign ?? serverOf(answer.response, endedAt - startedAt)
  return {
    base,
    server,
    clock: clockOf(answer.response.headers.date, (startedAt + endedAt) / 2),
    baseUrl: server.status === 'fail' ? undefined : baseUrl,
  }
}

/** A read that every voucher service refuses without a credential. */
const REFUSED_READ = '/api/v1/open-platform/vouchers/templates'

const hasEnvelope = ({ body }: TransportResponse) => typeof parseObject(body)?.success === 'boolean'

/** A failed check if neither response is from a voucher service: another server may lack /healthz but not the envelope. */
function foreignResponse(health: TransportResponse, refused: TransportResponse): Check | undefined {
  const isRedirect = health.status >= 300 && health.status < 400
  if (isRedirect || health.status >= 500 || hasEnvelope(health) || hasEnvelope(refused)) return undefined
  const { message } = readFailure(refused)
  return bad(
    'server',
    `${message}.`,
    'Correct the base URL. If it is right, a login page or a proxy responds in place of the server.',
  )
}

function serverOf({ status, headers, body }: TransportResponse, ms: number): Check {
  const name = 'server'
  if (status >= 300 && status < 400)
    return bad(
      name,
      `It answers with a redirect to ${headers.location ?? 'elsewhere'}; redirects are not followed.`,
      'Name the address that it redirects to.',
    )
  if (status >= 500)
    return bad(name, `It answers ${status}.`, 'Look at its log; `voucherctl server logs` shows that of a local one.')
  const data = parseObject(body)?.data as { instanceId?: unknown } | null | undefined
  const kind =
    typeof data?.instanceId === 'string'
      ? 'the reference server'
      : (headers.server ?? 'a server that does not name itself')
  return ok(name, `Answers within ${Math.max(1, Math.round(ms))} ms: ${kind}.`)
}

const SKEW = { warnSeconds: 5, failSeconds: 300 }

/** @param date of the answer; it counts in whole seconds. @param now milliseconds, in the middle of the exchange */
export function clockOf(date: string | undefined, now: number): Check {
  const name = 'clock'
  const theirs = Date.parse(date ?? '')
  if (Number.isNaN(theirs)) return skip(name, 'The server does not say what time it is.')
  const seconds = Math.round(Math.abs(now - theirs - 500) / 1000)
  const side = now > theirs ? 'ahead of' : 'behind'
  if (seconds <= SKEW.warnSeconds) return ok(name, 'Within seconds of that of the server.')
  const message = `This machine is ${seconds.toLocaleString('en')} s ${side} the server.`
  const fix = 'Set the clock, such as with `timedatectl set-ntp true`: signatures of webhooks hold for 300 s.'
  return seconds > SKEW.failSeconds ? bad(name, message, fix) : warn(name, message, fix)
}
