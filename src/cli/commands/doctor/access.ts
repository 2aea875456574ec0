import { sendPrepared } from '../../../client/call.js'
import type { CallResult } from '../../../client/result.js'
import { withSecure } from '../../../client/secure.js'
import type { Transport } from '../../../client/transport.js'
import type { CredentialKind } from '../../../contract/endpoint.js'
import { kindOf } from '../../../contract/secrets.js'
import type { Context } from '../../command/context.js'
import { openPlain, secureOptions } from '../../command/transport.js'
import { findCredential } from '../../config/credentials.js'
import { fromCall } from '../../failures/call-failure.js'
import { exitOf } from '../../failures/codes.js'
import { describeJwt } from '../../host/secrets.js'
import { bad, type Finding, ok, skip, warn } from './check.js'
import { ASK_MS } from './server.js'

interface Probe {
  readonly method: string
  readonly path: string
  readonly body?: string
}

const V1 = '/api/v1/open-platform'
const empty = { method: 'POST', body: '{}' }

/** A harmless call for each scope: a read, or a call without a required member (rules/cli.md#doctor). */
const scopeProbes: Readonly<Partial<Record<CredentialKind, Readonly<Record<string, Probe>>>>> = {
  token: {
    'vouchers:read': { method: 'GET', path: `${V1}/vouchers/templates?limit=1` },
    'vouchers:templates:write': { ...empty, path: `${V1}/vouchers/templates` },
    'vouchers:issue': { ...empty, path: `${V1}/vouchers/issue` },
    'vouchers:verify': { ...empty, path: `${V1}/vouchers/verify` },
    'vouchers:redeem': { ...empty, path: `${V1}/vouchers/redeem` },
    'vouchers:reverse': { ...empty, path: `${V1}/vouchers/redemptions/none/reverse` },
  },
  bot: {
    'messages:receive': { method: 'GET', path: '/api/v1/bots/getWebhookInfo' },
    'messages:send': { ...empty, path: '/api/v1/bots/sendMessage' },
    'vouchers:issue': { ...empty, path: '/api/v1/bots/vouchers/issue' },
  },
}

const plainProbes = {
  jwt: { method: 'GET', path: `${V1}/applications?limit=1` },
  operator: { method: 'GET', path: '/_platform/v1/reviews' },
}

/** Failure codes that a server sends after it accepted the credential and before it changed anything. */
const refusalsOfAccepted = ['APPLICATION_DISABLED', 'FEATURE_UNAVAILABLE', 'BOT_DISABLED', 'SECURE_TRANSPORT_REQUIRED']
const EXPIRES_SOON_MS = 3_600_000
/** Exit code of every failure of the encrypted transport. */
const ENCRYPTION = 10

/** Checks whether the server accepts the profile's credential of a kind, and which scopes the credential has. */
export async function checkCredential(
  context: Context,
  kind: CredentialKind,
  baseUrl: string | undefined,
): Promise<Finding> {
  if (baseUrl === undefined) return skip('No server to ask.')
  const { host, globals, settings } = context
  const found = await findCredential(host, globals, settings, kind, baseUrl)
  if (!found.ok) {
    if (found.code !== 'CREDENTIAL_REQUIRED')
      return bad(found.message, found.hint ?? 'Use another source for the credential.')
    const otherOrigin = settings.profile.credentials?.[kind]?.origin
    return skip(otherOrigin === undefined ? 'There is none.' : `The one in the profile is for ${otherOrigin}.`)
  }
  // --token-file contains one credential, whose form shows its kind: skip the other kinds.
  if (globals['token-file'] !== undefined && (kindOf(found.value) ?? 'token') !== kind) return skip('There is none.')
  const probes = scopeProbes[kind] ?? { '': plainProbes[kind as keyof typeof plainProbes] }
  const transport = await openWithoutTrace(context, baseUrl)
  const results = await Promise.all(
    Object.entries(probes).map(async ([scope, probe]) => ({
      scope,
      result: await put(transport, probe, found.value),
    })),
  )
  const refusal = results.find(({ result }) => !result.ok && isRefusal(result))?.result
  if (refusal !== undefined && !refusal.ok) {
    const { code, message, hint } = fromCall(refusal)
    return bad(`From ${found.source}, refused (${code}): ${message}`, hint ?? 'Log in again.')
  }
  if (kind === 'jwt') return jwtCheck(found, host.now())
  if (kind === 'operator') return ok(`From ${found.source}, accepted.`)
  const lacks = ({ result }: (typeof results)[number]) => !result.ok && result.code === 'INSUFFICIENT_SCOPE'
  const scopes = results.filter((it) => !lacks(it)).map((it) => it.scope)
  const lacking = results.filter(lacks).map((it) => it.scope)
  const without = lacking.length === 0 ? '' : `; without ${lacking.join(', ')}`
  return scopes.length === 0
    ? warn(
        `From ${found.source}: valid, but it has none of the scopes ${lacking.join(', ')}.`,
        'Make one with the scopes that you need.',
      )
    : ok(`From ${found.source}, accepted for ${scopes.join(', ')}${without}.`)
}

function isRefusal({ status, code }: Extract<CallResult<unknown>, { ok: false }>): boolean {
  if (status === 0 || status === 401 || status >= 500) return true
  return code === 'INVALID_RESPONSE' || exitOf({ code, status }) === ENCRYPTION || refusalsOfAccepted.includes(code)
}

function jwtCheck({ value, source }: { value: string; source: string }, now: number): Finding {
  const { account, expiresAt } = describeJwt(value)
  const message = `From ${source}, accepted${account === null ? '' : `, account ${account}`}${expiresAt === null ? '' : `, until ${expiresAt}`}.`
  const isShort = expiresAt !== null && Date.parse(expiresAt) - now < EXPIRES_SOON_MS
  return isShort ? warn(message, 'Log in again: `voucherctl login`.') : ok(message)
}

/** Opens a transport with the encryption mode from the settings, but stores no downgrade protection in the profile. */
async function openWithoutTrace(context: Context, baseUrl: string): Promise<Transport> {
  const plain = await openPlain(context, baseUrl)
  if (context.settings.secure.mode.value === 'off') return plain
  const options = await secureOptions(context, baseUrl)
  const isSet = () => options.downgradeProtection?.isSet() ?? false
  return withSecure(plain, { ...options, downgradeProtection: { isSet, set: async () => {} } })
}

async function put(transport: Transport, { method, path, body }: Probe, token: string): Promise<CallResult<unknown>> {
  const headers = {
    accept: 'application/json',
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const request = { method, path, headers, timeoutMs: ASK_MS, ...(body === undefined ? {} : { body }) }
  return sendPrepared(transport, { ok: true, request, token, idempotencyKey: undefined, mutates: false })
}
