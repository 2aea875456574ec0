import { parseBaseUrl } from '../../client/base-url.js'
import { isSecured, type SecureMode } from '../../client/secure.js'
import type { TransportRequest } from '../../client/transport.js'
import { membersOf } from '../../contract/endpoint.js'
import { isSecret } from '../../contract/fields.js'
import type { Schema } from '../../contract/schema.js'
import { redact, redactCode } from '../../contract/secrets.js'
import type { Failure } from '../failures/failure.js'
import { scrubAll } from '../host/secrets.js'
import { Output } from '../output/output.js'
import { wrapMessage } from '../output/text.js'

/** `sent`: the dry run sent this request, to look up an id. */
type PlannedRequest = ReturnType<typeof planRequest> & { readonly sent?: true }

/**
 * Describes the request that a dry run does not send. It shows the prefix of the credential and the last four symbols
 * of voucher codes, and hides secret and URL path of a webhook. `secure`: an envelope would encrypt the request, and
 * only `outer` would be visible on the network.
 * @param schema of the body, if known
 */
export function planRequest(
  baseUrl: string,
  request: TransportRequest,
  mode: SecureMode,
  origin: string | undefined,
  schema: Schema | undefined,
) {
  const base = parseBaseUrl(baseUrl)
  const start = `${base.origin}${base.prefix}`
  const outer = `POST ${start}/api/v1/secure/dispatch`
  const isEncrypted = mode !== 'off' && isSecured(request.path)
  return {
    method: request.method,
    url: `${start}${request.path}`,
    headers: redactHeaders(request.headers),
    body: request.body === undefined ? null : redactBody(JSON.parse(request.body), schema),
    ...(isEncrypted ? { secure: { mode, outer, origin: origin ?? null } } : {}),
  }
}

export function redactHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const shown = (value: string) => `Bearer ${redact(value.replace(/^Bearer /, ''))}`
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name === 'authorization' ? shown(value) : value]),
  )
}

function redactBody(body: unknown, schema: Schema | undefined): unknown {
  if (typeof body !== 'object' || body === null) return body
  const shown: Record<string, unknown> = { ...body }
  if ('credential' in body) {
    const { credential } = body as { credential: { type: string; value: string } }
    shown.credential = { ...credential, value: redactCode(String(credential?.value)) }
  }
  if ('secret_token' in body) shown.secret_token = '…'
  // Hide the path: the full URL of a webhook is enough to post to it.
  if ('url' in body && isSecret(membersOf(schema).url))
    shown.url = URL.canParse(String(body.url)) ? `${new URL(String(body.url)).origin}/…` : '…'
  return shown
}

/** Prints the plan of a dry run. @returns the failure if the `--jq` filter fails */
export async function printPlan(plan: readonly unknown[], { host, options }: Output): Promise<Failure | undefined> {
  const steps = scrubAll(host, plan) as readonly (PlannedRequest | { readonly action: string })[]
  const requests = steps.filter((it): it is PlannedRequest => !('action' in it))
  const actions = steps.flatMap((it) => ('action' in it ? [it.action] : []))
  const output = new Output(host, { ...options, fields: undefined, changes: false })
  const { width = Number.POSITIVE_INFINITY } = output
  await output.print(
    { dry_run: true, requests, actions },
    {
      headline: () =>
        requests.some((it) => it.sent)
          ? 'Dry run: nothing was changed. Only what is marked as sent was sent, to look up ids.'
          : 'Dry run: nothing was sent and nothing was changed.',
      body: () =>
        steps
          .map((step) => ('action' in step ? wrapMessage(`would ${step.action}`, width) : showRequest(step)))
          .join('\n\n'),
    },
  )
  return output.filterError
}

function showRequest(request: PlannedRequest): string {
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)
  const body = request.body === null ? [] : ['', JSON.stringify(request.body, null, 2)]
  const sent = request.sent ? ' (sent)' : ''
  return [`${request.method} ${request.url}${sent}`, ...headers, ...body, ...envelopeOf(request)].join('\n')
}

function envelopeOf({ secure }: PlannedRequest): string[] {
  if (secure === undefined) return []
  const unless = secure.mode === 'auto' ? ', unless the server has the encrypted transport switched off' : ''
  const origin = secure.origin === null ? '' : `, with Origin: ${secure.origin}`
  return ['', `All of it encrypted${unless}; seen on the way: ${secure.outer}${origin}`]
}
