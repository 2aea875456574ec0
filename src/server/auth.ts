import { timingSafeEqual } from 'node:crypto'
import { type CredentialKind, type Endpoint, isRuntime } from '../contract/endpoint.js'
import { type Refusal, refuse } from '../contract/errors.js'
import { platformActivity } from '../contract/platform/activity.js'
import { OPERATOR_CALLER, refuseForApplication, refuseRuntimeCall } from '../domain/application.js'
import { type BotCallerRow, refuseBotCall } from '../domain/bot/caller.js'
import { hashToken, isWellFormedToken, tokenKind, tokenPrefixOf } from '../domain/tokens.js'
import { platformHeaders } from '../inspector/assets.js'
import { isPlatformPath, type PageRequest } from '../inspector/inspector.js'
import * as apps from '../store/apps.js'
import * as bots from '../store/bots/bots.js'
import * as tokens from '../store/tokens.js'
import type { Deps } from './deps.js'
import { type ActingFor, type ApiCall, type Caller, headerValues } from './http/api-call.js'

const OPERATOR: Caller = {
  kind: 'operator',
  accountId: '',
  applicationId: '',
  tokenId: '',
  botId: '',
  calledBy: OPERATOR_CALLER,
}

const BEARER = /^Bearer +([!-~]+) *$/i

/** Returns the bearer value; refuses duplicate headers, because Node silently uses the first. */
function bearerOf(exchange: ApiCall): string | Refusal<'TOKEN_MISSING' | 'TOKEN_INVALID'> {
  const values = headerValues(exchange, 'authorization')
  if (values.length === 0) return refuse('TOKEN_MISSING')
  const value = BEARER.exec(values[0] as string)?.[1]
  return value === undefined || values.length > 1 ? refuse('TOKEN_INVALID') : value
}

const kindByPrefix = { sop_: 'token', sbot_: 'bot', opk_: 'operator' } as const

/** Kind of a credential by its form; a JWT has two dots. */
function kindOf(value: string): CredentialKind | null {
  const prefix = tokenKind(value)
  if (prefix !== null) return kindByPrefix[prefix]
  return /^[^.]+\.[^.]*\.[^.]+$/.test(value) ? 'jwt' : null
}

/** Authenticates a request and checks what its credential may do (rules/calls.md#order-of-checks). */
export function authenticate(
  deps: Deps,
  endpoint: Endpoint,
  exchange: ApiCall,
): Caller | Refusal | Promise<Caller | Refusal> {
  if (exchange.actingFor?.kind === endpoint.caller) return byOperator(deps, endpoint, exchange, exchange.actingFor)
  if (deps.secure.required && exchange.inner === null && isRuntime(endpoint)) {
    return refuse('SECURE_TRANSPORT_REQUIRED')
  }
  if (endpoint.caller === 'operator' && deps.inspector?.usesSession(exchange)) {
    const refusal = deps.inspector.refuseSession(messageOf(exchange))
    // A page must not outlive its session by creating links for others.
    if (refusal !== undefined || endpoint.id !== platformActivity.openPage.id) return refusal ?? OPERATOR
  }
  const value = bearerOf(exchange)
  if (typeof value !== 'string') return value
  const kind = kindOf(value)
  if (kind === null) return refuse('TOKEN_INVALID')
  if (kind !== endpoint.caller) return refuse('TOKEN_TYPE_NOT_ACCEPTED', { accepted: endpoint.caller })
  switch (endpoint.caller) {
    case 'token':
      return byToken(deps, endpoint, exchange, value)
    case 'bot':
      return byBotToken(deps, endpoint, exchange, value)
    case 'jwt':
      return byJwt(deps, value)
    case 'operator':
      return isOperatorKey(deps, value) ? OPERATOR : refuse('TOKEN_INVALID')
  }
}

export function isOperator(deps: Deps, exchange: ApiCall): boolean {
  const value = bearerOf(exchange)
  return typeof value === 'string' && isOperatorKey(deps, value)
}

function isOperatorKey({ operatorKeyHash }: Deps, value: string): boolean {
  return operatorKeyHash !== null && timingSafeEqual(Buffer.from(hashToken(value)), Buffer.from(operatorKeyHash))
}

async function byJwt(deps: Deps, value: string): Promise<Caller | Refusal> {
  const verified = await deps.accounts.verify(value, deps.clock.now())
  return verified.ok ? { ...OPERATOR, kind: 'jwt', accountId: verified.accountId } : verified
}

/** The operator in place of another caller. No policy on encryption and origins applies within a process. */
async function byOperator(
  deps: Deps,
  endpoint: Endpoint,
  exchange: ApiCall,
  { kind, id }: ActingFor,
): Promise<Caller | Refusal> {
  if (kind === 'jwt') return { ...OPERATOR, kind, accountId: id }
  if (kind === 'bot') {
    exchange.botId = id
    const row = await deps.store.read(() => bots.callerById(id))
    const refusal = refuseBotCall(row, endpoint)
    return refusal ?? botCaller(row as BotCallerRow, '', OPERATOR_CALLER)
  }
  const row = await deps.store.read(() => apps.find(id))
  if (row === undefined) return refuse('TOKEN_INVALID')
  const refusal = refuseForApplication({ ...row, secure_transport: 'optional' }, null)
  return refusal ?? { ...OPERATOR, kind, accountId: row.account_id, applicationId: id }
}

async function byToken(deps: Deps, endpoint: Endpoint, exchange: ApiCall, value: string): Promise<Caller | Refusal> {
  if (!isWellFormedToken(value)) return refuse('TOKEN_INVALID')
  const hash = hashToken(value)
  const row = await deps.store.read(() => tokens.callerByHash(hash))
  const refusal = refuseRuntimeCall(row, endpoint.scope, deps.clock.now(), exchange.inner?.origin ?? null)
  if (refusal !== null) return refusal
  const { account_id: accountId, application_id: applicationId, token_id: tokenId } = row as NonNullable<typeof row>
  return { kind: 'token', accountId, applicationId, tokenId, botId: '', calledBy: tokenId }
}

async function byBotToken(deps: Deps, endpoint: Endpoint, exchange: ApiCall, value: string): Promise<Caller | Refusal> {
  if (!isWellFormedToken(value)) return refuse('TOKEN_INVALID')
  const hash = hashToken(value)
  const row = await deps.store.read(() => bots.callerByHash(hash))
  exchange.botId = row?.bot_id ?? null
  const refusal = refuseBotCall(row, endpoint, exchange.inner?.origin ?? null)
  if (refusal !== null) return refusal
  return botCaller(row as BotCallerRow, hash, tokenPrefixOf(value))
}

const botCaller = (row: BotCallerRow, tokenId: string, calledBy: string): Caller => ({
  ...{ kind: 'bot', accountId: row.account_id, applicationId: row.application_id ?? '', botId: row.bot_id },
  ...{ tokenId, calledBy },
})

/** Refuses a request below /_platform for another name or from another site (rules/operator.md#page-requests). */
export function refuseForeignRequest({ inspector }: Pick<Deps, 'inspector'>, exchange: ApiCall): Refusal | undefined {
  const path = exchange.route?.endpoint.path
  const isPlatform = path === undefined ? isPlatformPath(exchange.url) : path.startsWith('/_platform/')
  if (!isPlatform) return undefined
  Object.assign(exchange.replyHeaders, platformHeaders)
  return inspector?.refuse(exchange)
}

export const messageOf = ({ method, url, rawHeaders, carrier }: ApiCall): PageRequest => ({
  method,
  url,
  rawHeaders,
  socket: carrier.request.socket,
})
